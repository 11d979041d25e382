"""What an agent lacks of a conversation that it has loaded: any loss is noticed, and nothing else is taken for one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session import facts as f
from rekindle.core.session.history import Turn
from rekindle.core.session.losses import lost_answers, lost_prompts, misplaced_prompts
from rekindle.core.session.state import Session
from tests.sessions import created, folded

_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=120)
_prompts = _words.filter(lambda text: not text.startswith("/"))
_pairs = st.lists(st.tuples(_prompts, _words.filter(str.strip)), min_size=1, max_size=5)
Pairs = list[tuple[str, str]]


def resumed(pairs: Pairs, *, compact: str | None = None) -> Session:
    """One attempt in which all of it was said, and a second one that has just loaded it."""
    facts: list[f.AnyFact] = [
        created(),
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=4, attempt=1, how="new", token="tok", compact=compact),
    ]
    for number, (text, _) in enumerate(pairs):
        facts += [
            f.PromptQueued(at=5, prompt=f"p{number}", text=text),
            f.PromptSent(at=6, attempt=1, prompt=f"p{number}", message=number, text=text),
            f.TurnFinished(at=7, attempt=1, prompt=f"p{number}", stop_reason="end_turn"),
        ]
    facts += [
        f.Exited(at=8, attempt=1, how_ended="stopped", by_us=True),
        f.LaunchIntended(at=9, attempt=2, generation=2, how="load", token="tok"),
        f.Launched(at=10, attempt=2, folder="/k/2", pid=2),
    ]
    return folded(facts)


def turns(pairs: Pairs) -> list[Turn]:
    return [turn for text, answer in pairs for turn in (Turn("user", text), Turn("assistant", answer))]


def texts(pairs: Pairs) -> list[str]:
    return [text for text, _ in pairs]


@given(_pairs, st.data())
def test_who_shows_everything_lacks_nothing_however_it_is_cut_into_pieces_and_spaced(
    pairs: Pairs, data: st.DataObject
) -> None:
    shown: list[Turn] = []
    for text, answer in pairs:
        cut = data.draw(st.integers(0, len(answer)))
        shown += [Turn("user", text), Turn("assistant", answer[:cut] + " \n"), Turn("assistant", answer[cut:].rstrip())]
    session = resumed(pairs)
    assert lost_prompts(session, texts(pairs), shown) == ""
    assert lost_answers(session, shown, turns(pairs)) == ""


@given(_pairs, st.data())
def test_any_prompt_that_is_lost_is_noticed(pairs: Pairs, data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(pairs) - 1), min_size=1))
    left = [pair for number, pair in enumerate(pairs) if number not in gone]
    told = lost_prompts(resumed(pairs), texts(left), turns(left))
    assert f"lacks {len(gone)} of {len(pairs)} earlier prompts" in told


@given(_pairs)
def test_what_is_shown_and_is_not_in_the_record_is_lost(pairs: Pairs) -> None:
    assert lost_prompts(resumed(pairs), [], turns(pairs))


@given(_pairs, st.data())
def test_an_answer_with_anything_left_out_is_noticed(pairs: Pairs, data: st.DataObject) -> None:
    torn = data.draw(st.integers(0, len(pairs) - 1))
    text, answer = pairs[torn]
    at = data.draw(st.sampled_from([place for place, letter in enumerate(answer) if not letter.isspace()]))
    end = data.draw(st.sampled_from([at + 1, len(answer)]))
    shown = [*pairs[:torn], (text, answer[:at] + answer[end:]), *pairs[torn + 1 :]]
    session = resumed(pairs)
    assert lost_prompts(session, texts(shown), turns(shown)) == ""
    assert "lacks 1 of" in lost_answers(session, turns(shown), turns(pairs))


@given(_pairs, st.data())
def test_an_answer_in_other_words_is_noticed_where_the_agent_shows_it_word_for_word(
    pairs: Pairs, data: st.DataObject
) -> None:
    changed = data.draw(st.integers(0, len(pairs) - 1))
    text, answer = pairs[changed]
    shown = [*pairs[:changed], (text, f"{answer}, or not"), *pairs[changed + 1 :]]
    session = resumed(pairs)
    assert "not as they were" in lost_answers(session, turns(shown), turns(pairs), verbatim=True)
    assert lost_answers(session, turns(pairs), turns(pairs), verbatim=True) == ""
    altered = [*pairs[:changed], (f"{text}!", answer), *pairs[changed + 1 :]]
    if f"{text}!" not in texts(pairs):
        assert "lacks 1 of" in lost_prompts(session, texts(altered), turns(altered), verbatim=True)


@given(_pairs, st.data())
def test_prompts_out_of_their_order_are_noticed(pairs: Pairs, data: st.DataObject) -> None:
    session, read = resumed(pairs), texts(pairs)
    assert misplaced_prompts(session, read) == ""
    assert misplaced_prompts(session, ["the agent's own words", *read]) == ""
    order = data.draw(st.permutations(read))
    assert bool(misplaced_prompts(session, order)) is (order != read)


def test_a_prompt_that_is_shown_again_behind_a_summary_is_no_loss() -> None:
    heard = [Turn("user", "one"), Turn("assistant", "a summary"), Turn("assistant", "an answer")]
    again = [heard[0], heard[1], heard[0], heard[2]]
    assert lost_answers(resumed([("one", "")]), again, heard) == ""
    assert lost_answers(resumed([("one", "")]), again[:3], heard)


def test_what_an_agent_says_to_itself_in_the_users_name_belongs_to_its_turn() -> None:
    heard = [Turn("user", "one"), Turn("assistant", "an answer, a summary"), Turn("assistant", "and more")]
    shown = [*heard[:2], Turn("user", "Continue if you have next steps."), heard[2]]
    assert lost_answers(resumed([("one", "")]), shown, heard) == ""
    assert lost_answers(resumed([("one", "")]), shown[:3], heard)


@given(_pairs)
def test_words_in_another_form_are_no_loss(pairs: Pairs) -> None:
    other = [(f"<p>{text}</p>", f"<p>{answer}</p>") for text, answer in pairs]
    assert lost_prompts(resumed(pairs), texts(other), turns(other)) == ""
    answered = [(text, f"<p>{answer}</p>") for text, answer in pairs]
    assert lost_answers(resumed(pairs), turns(answered), turns(pairs)) == ""


@given(_pairs, st.data())
def test_a_conversation_that_was_shortened_lacks_what_it_should(pairs: Pairs, data: st.DataObject) -> None:
    left = pairs[data.draw(st.integers(0, len(pairs))) :]
    session = resumed([*pairs, ("/compact", "done")], compact="/compact")
    assert lost_prompts(session, texts(left), turns(left)) == ""


@given(_pairs)
def test_a_command_of_the_agents_own_leaves_what_it_likes(pairs: Pairs) -> None:
    session = resumed([*pairs, ("/review it", "looks good")])
    assert lost_prompts(session, texts(pairs), turns(pairs)) == ""


def test_a_turn_that_did_not_end_well_may_be_forgotten() -> None:
    session = resumed([("one", "1")])
    failed = folded(
        [
            created(),
            f.PromptQueued(at=2, prompt="p", text="two"),
            f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
            f.Launched(at=3, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=4, attempt=1, how="new", token="tok"),
            f.PromptSent(at=6, attempt=1, prompt="p", message=1, text="two"),
            f.TurnFailed(at=7, attempt=1, prompt="p", error="other", message="no"),
            f.Exited(at=8, attempt=1, how_ended="stopped", by_us=True),
            f.LaunchIntended(at=9, attempt=2, generation=2, how="load", token="tok"),
        ]
    )
    assert lost_prompts(session, [], []) and not lost_prompts(failed, [], [])
