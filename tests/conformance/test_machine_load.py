"""What the machine says about itself: limits of a container or a service hold, and nothing that is missing is fatal."""

from __future__ import annotations

from pathlib import Path

from rekindle.adapters.machine.load import ThisMachinesLoad

GB = 1024**3


def machine(root: Path, cgroup: str = "0::/\n") -> Path:
    (root / "proc/pressure").mkdir(parents=True)
    (root / "proc/self").mkdir()
    (root / "proc/meminfo").write_text("MemTotal: 16777216 kB\nMemFree: 100 kB\nMemAvailable: 8388608 kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    return root


def put(root: Path, group: str, **files: str) -> None:
    folder = root / "sys/fs/cgroup" / group
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)


def test_this_very_machine_can_be_read() -> None:
    found = ThisMachinesLoad().reading()
    assert found is not None
    assert found.cores >= 0.5 and 0 < found.available <= found.memory


def test_a_machine_without_limits_has_what_the_kernel_says(tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / "proc/pressure/memory").write_text("some avg10=30.00 avg60=1\nfull avg10=12.50 avg60=0.00 total=1\n")
    found = ThisMachinesLoad(root).reading()
    assert found is not None
    assert (found.memory, found.available, found.stalled) == (16 * GB, 8 * GB, 12.5)


def test_the_limit_of_a_group_above_ours_holds_and_file_caches_count_as_free(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/user.slice/app.service\n")
    put(root, "user.slice", memory_max=f"{4 * GB}\n", memory_current=f"{3 * GB}\n", cpu_max="100000 100000\n")
    (root / "sys/fs/cgroup/user.slice/memory.stat").write_text(f"anon {GB}\ninactive_file {GB}\n")
    put(root, "user.slice/app.service", memory_max="max\n", memory_current=f"{GB}\n", cpu_max="max 100000\n")
    (root / "sys/fs/cgroup/user.slice/app.service/memory.pressure").write_text("full avg10=77.00\n")
    found = ThisMachinesLoad(root).reading()
    assert found is not None
    assert (found.memory, found.available, found.cores, found.stalled) == (4 * GB, 2 * GB, 1.0, 77.0)


def test_groups_of_the_first_version_hold_too_and_their_largest_number_is_no_limit(tmp_path: Path) -> None:
    root = machine(tmp_path, "4:memory:/box\n1:cpu,cpuacct:/\n0::/\n")
    put(root, "memory", memory_limit_in_bytes="9223372036854771712\n", memory_usage_in_bytes="1\n")
    put(root, "memory/box", memory_limit_in_bytes=f"{2 * GB}\n", memory_usage_in_bytes=f"{GB}\n")
    found = ThisMachinesLoad(root).reading()
    assert found is not None
    assert (found.memory, found.available) == (2 * GB, GB)


def test_files_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    root = machine(tmp_path, "nonsense\n0::\n::::\n")
    (root / "proc/pressure/memory").write_text("full avg10=much\n\n")
    found = ThisMachinesLoad(root).reading()
    assert found is not None
    assert (found.memory, found.stalled) == (16 * GB, None)
