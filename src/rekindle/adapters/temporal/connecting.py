"""How a host reaches the Temporal server: its address, TLS, and the key for its API."""

from __future__ import annotations

import re
from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, TLSConfig
from temporalio.service import RPCError

from rekindle import files
from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.machine.secret_file import read_private, read_secret
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import EngineError

_LONGEST = 1 << 20
_INNER = re.compile(r'message: "([^"]+)"')


async def connected(settings: TemporalSettings, identity: str, *, lazy: bool = False) -> Client:
    """A client. `lazy`: the server need not be there yet. Raises EngineError and UsageError."""
    key = read_secret(settings.api_key_file, "temporal_api_key_file") if settings.api_key_file is not None else None
    tls: TLSConfig | bool = key is not None
    if settings.tls_ca or settings.tls_cert:
        ca, cert = _content(settings.tls_ca), _content(settings.tls_cert)
        own = read_private(settings.tls_key, "temporal_tls_key", _LONGEST) if settings.tls_key is not None else None
        tls = TLSConfig(server_root_ca_cert=ca, client_cert=cert, client_private_key=own)
    try:
        return await Client.connect(
            settings.address, namespace=settings.namespace, tls=tls, api_key=key, identity=identity, lazy=lazy
        )
    except RuntimeError as error:
        raise unreachable(settings.address, error) from error


async def namespace_id(client: Client, settings: TemporalSettings) -> str:
    """What tells this engine from any other: the id that its server gave the namespace. Raises EngineError."""
    asked = DescribeNamespaceRequest(namespace=settings.namespace)
    try:
        told = await client.workflow_service.describe_namespace(asked, timeout=timedelta(seconds=10))
    except (RPCError, RuntimeError) as error:
        raise unreachable(settings.address, error) from error
    return told.namespace_info.id


def unreachable(address: str, error: BaseException) -> EngineError:
    """What a failure means to a person."""
    words = (str(error).strip().splitlines() or [type(error).__name__])[0]
    inner = _INNER.findall(words)  # the SDK prints how its errors are nested; the last one says what happened
    return EngineError(
        f"the fleet's engine (Temporal at {address}) cannot be reached: {inner[-1] if inner else words[:200]}",
        "see whether the server runs, and temporal_address",
    )


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return files.read_short(path, _LONGEST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "see the temporal_tls settings") from error
