"""The ledger under kills, races, full disks and meddling: no acknowledged spend is ever lost."""

import json
import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.data.records import Records
from thresher.errors import BudgetError, LedgerError, ParameterError
from thresher.privacy import Budget, Curator, Unit, rho_of
from thresher.privacy.counted import CountedTables
from thresher.privacy.ledger import Ledger
from thresher.privacy.ledger_lines import sealed
from thresher.queries import Query

# Forks a spender, kills it after a pseudo-random moment, and reports what it acknowledged through
# a pipe; many times over, in one process, since starting an interpreter is the slow part.
KILL_MANY = """
import json, os, random, signal, sys, time
from fractions import Fraction
from thresher.privacy.ledger import Ledger
path, kills = sys.argv[1], int(sys.argv[2])
clock = random.Random(20240607)
acknowledged = 0
for _ in range(kills):
    outlet, inlet = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(outlet)
        while True:
            Ledger.open(path).spend(Fraction(1, 1009), release="killed", who="child")
            os.write(inlet, b".")
    os.close(inlet)
    time.sleep(clock.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while dots := os.read(outlet, 4096):
        acknowledged += len(dots)
    os.close(outlet)
    Ledger.open(path)
print(acknowledged)
"""

# Waits for the starting shot on standard input, so that racers meet at the lock.
RACE = """
import sys
from fractions import Fraction
from thresher.errors import BudgetError
from thresher.privacy.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    ledger.spend(Fraction(1, 11), release="race")
    print("won")
except BudgetError:
    print("lost")
"""

# A file-size limit is a disk that is full in the middle of a line.
FILL = """
import resource, sys
from fractions import Fraction
from pathlib import Path
from thresher.errors import LedgerError
from thresher.privacy.ledger import Ledger
path, room = Path(sys.argv[1]), int(sys.argv[2])
limit = path.stat().st_size + room
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    Ledger.open(path).spend(Fraction(1, 10), release="too late")
except LedgerError as error:
    print(error)
else:
    print("acknowledged")
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(
        tmp_path / "people.ledger", Fraction(1), epsilon=1.0, delta=1e-9, accounting="tight"
    )


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_an_eleventh_can_be_spent_eleven_times_and_not_twelve(ledger: Ledger) -> None:
    for number in range(11):
        assert ledger.remaining == 1 - Fraction(number, 11)
        ledger.spend(Fraction(1, 11), release=f"release {number}")
    assert ledger.spent == ledger.total == 1
    with pytest.raises(BudgetError):
        ledger.spend(Fraction(1, 10**40), release="one too many")
    assert len(ledger.entries) == 11


def test_a_refusal_tells_requested_remaining_and_difference(ledger: Ledger) -> None:
    ledger.spend(Fraction(3, 4), release="first", who="ada")
    with pytest.raises(
        BudgetError,
        match=r"'second' requested rho 0\.5.* remaining 0\.25\d* of 1.* difference 0\.25\d*",
    ):
        ledger.spend(Fraction(1, 2), release="second", who="ada")
    assert ledger.spent == Fraction(3, 4)


def test_it_reads_back_what_was_written(ledger: Ledger) -> None:
    ledger.spend(Fraction(1, 3), release="first", who="ada")
    account = Ledger.open(ledger.path).read()
    assert (account.epsilon, account.delta, account.accounting) == (1.0, 1e-9, "tight")
    [entry] = account.entries
    assert (entry.number, entry.rho, entry.who, entry.release) == (
        1,
        Fraction(1, 3),
        "ada",
        "first",
    )
    assert entry.time.endswith("+00:00")


def test_the_current_user_spends_unless_another_is_named(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    ledger.spend(Fraction(1, 3), release="first")
    monkeypatch.setattr("getpass.getuser", lambda: (_ for _ in ()).throw(KeyError("no such uid")))
    ledger.spend(Fraction(1, 3), release="second")
    assert [entry.who for entry in ledger.entries] == ["grace", f"user {os.getuid()}"]


@settings(max_examples=25, deadline=None)
@given(release=st.text(st.characters(exclude_categories=())), who=st.text())
def test_any_name_stays_on_one_printable_line(
    tmp_path_factory: pytest.TempPathFactory, release: str, who: str
) -> None:
    ledger = Ledger.create(tmp_path_factory.mktemp("names") / "l", Fraction(1), data=release)
    ledger.spend(Fraction(1, 2), release=release, who=who)
    assert [(entry.release, entry.who) for entry in ledger.entries] == [(release, who)]
    text = ledger.path.read_text()
    assert text.count("\n") == 2
    assert text.replace("\n", "").isprintable()


def test_letters_are_kept_and_control_characters_escaped(ledger: Ledger) -> None:
    ledger.spend(Fraction(1, 2), release="Größe\n\x1b[2J\u202e", who="Åsa")
    assert 'Åsa", "release": "Größe\\n\\u001b[2J\\u202e"' in ledger.path.read_text()


@pytest.mark.parametrize("rho", [Fraction(0), Fraction(-1, 2), 0.5, Fraction(1, 2**9000)])
def test_only_positive_exact_amounts_can_be_spent(ledger: Ledger, rho: Fraction) -> None:
    with pytest.raises(BudgetError, match="rho must be"):
        ledger.spend(rho, release="odd")
    with pytest.raises(BudgetError, match="rho must be"):
        Ledger.create(ledger.path.with_name("other"), rho)
    assert ledger.spent == 0
    assert os.listdir(ledger.path.parent) == [ledger.path.name]


# Kills, races, full disks ------------------------------------------------------------------------


def test_kills_at_random_moments_never_lose_an_acknowledged_spend(ledger: Ledger) -> None:
    kills = 25
    acknowledged = int(run(KILL_MANY, ledger.path, kills))
    spent = Ledger.open(ledger.path).spent * 1009
    # Each kill can leave one spend that was written but not yet acknowledged.
    assert acknowledged <= spent <= acknowledged + kills
    assert spent <= 1009


def test_two_processes_race_for_the_last_of_the_budget_and_one_wins(ledger: Ledger) -> None:
    ledger.spend(Fraction(10, 11), release="before")
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(ledger.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [racer.stdout and racer.stdout.readline() for racer in racers] == ["ready\n"] * 2
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    assert sorted(racer.communicate(timeout=60)[0].strip() for racer in racers) == ["lost", "won"]
    assert ledger.remaining == 0


def test_threads_that_share_a_ledger_spend_no_more_than_there_is(ledger: Ledger) -> None:
    won: list[int] = []

    def spend_all() -> None:
        for attempt in range(10):
            try:
                ledger.spend(Fraction(1, 11), release="thread")
            except BudgetError:
                return
            won.append(attempt)

    threads = [threading.Thread(target=spend_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == len(ledger.entries) == 11


@pytest.mark.parametrize("room", [0, 100])
def test_a_full_disk_spends_nothing_and_leaves_the_ledger_readable(
    ledger: Ledger, room: int
) -> None:
    ledger.spend(Fraction(1, 4), release="before")
    before = ledger.path.read_bytes()
    assert "cannot be used: File too large" in run(FILL, ledger.path, room)
    assert ledger.path.read_bytes() == before
    ledger.spend(Fraction(3, 4), release="after")
    assert ledger.remaining == 0


def test_a_failed_sync_is_not_acknowledged(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(LedgerError, match="No space left on device"):
            ledger.spend(Fraction(1), release="lost")
    ledger.spend(Fraction(1), release="kept")
    assert [entry.release for entry in ledger.entries] == ["kept"]


def test_a_last_line_cut_anywhere_is_ignored_or_counted_whole(ledger: Ledger) -> None:
    ledger.spend(Fraction(1, 4), release="acknowledged", who="ada")
    kept = ledger.path.read_bytes()
    ledger.spend(Fraction(1, 2), release="torn", who="ada")
    whole = ledger.path.read_bytes()
    for cut in range(len(kept), len(whole)):
        only_the_newline_is_missing = cut == len(whole) - 1
        for zeros in (b"", b"\0\0"):
            ledger.path.write_bytes(whole[:cut] + zeros)
            expected = Fraction(3, 4) if only_the_newline_is_missing else Fraction(1, 4)
            assert ledger.spent == expected
            # Reading mends nothing: only a spend, under the exclusive lock, may.
            assert ledger.path.read_bytes() == whole[:cut] + zeros
            ledger.spend(Fraction(1, 8), release="next", who="bob")
            assert ledger.spent == expected + Fraction(1, 8)
            assert ledger.path.read_bytes().startswith(
                whole if only_the_newline_is_missing else kept
            )


# Damage and mistakes -----------------------------------------------------------------------------


def three_lines(ledger: Ledger) -> list[str]:
    ledger.spend(Fraction(1, 4), release="first", who="ada")
    ledger.spend(Fraction(1, 4), release="second", who="ada")
    return ledger.path.read_text().splitlines(keepends=True)


@pytest.mark.parametrize("line", [2, 3])
def test_a_changed_amount_is_noticed_and_its_line_named(ledger: Ledger, line: int) -> None:
    lines = three_lines(ledger)
    lines[line - 1] = lines[line - 1].replace('"1/4"', '"1/9"')
    ledger.path.write_text("".join(lines))
    with pytest.raises(LedgerError, match=f"line {line} is damaged.*Restore"):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match=f"line {line} is damaged"):
        ledger.spend(Fraction(1, 4), release="third")


def test_every_flipped_bit_of_a_finished_ledger_is_noticed(ledger: Ledger) -> None:
    content = bytearray("".join(three_lines(ledger)).encode())
    for place in range(len(content)):
        content[place] ^= 1
        ledger.path.write_bytes(content)
        with pytest.raises(LedgerError):
            Ledger.open(ledger.path)
        content[place] ^= 1


@pytest.mark.parametrize("order", [[0, 2], [0, 2, 1], [0, 1, 1, 2], [1, 2]])
def test_lost_swapped_or_repeated_lines_are_noticed(ledger: Ledger, order: list[int]) -> None:
    lines = three_lines(ledger)
    ledger.path.write_text("".join(lines[i] for i in order))
    with pytest.raises(LedgerError, match="line"):
        Ledger.open(ledger.path)


def test_lines_of_another_ledger_do_not_fit(ledger: Ledger) -> None:
    other = Ledger.create(ledger.path.with_name("other"), Fraction(2))
    lines, others = three_lines(ledger), three_lines(other)
    ledger.path.write_text(lines[0] + others[1])
    with pytest.raises(LedgerError, match="line 2"):
        Ledger.open(ledger.path)


@pytest.mark.parametrize(
    "content", [b"", b"age,sex\n39,Male\n", b"\xff\xfe\0\n", b"[]\n", b"[" * 9000 + b"\n", b"{}\n"]
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not the first line of a thresher ledger"):
        Ledger(path).spend(Fraction(1), release="mistake")
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(path, Fraction(1))
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["people.csv"]


def test_missing_files_directories_and_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"missing does not exist.*Ledger\.create"):
        Ledger.open(tmp_path / "missing")
    with pytest.raises(LedgerError, match="does not exist; make the folder"):
        Ledger.create(tmp_path / "no" / "folder", Fraction(1))
    with pytest.raises(LedgerError, match="not a regular file"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="not a regular file"):
        Ledger.open("/dev/full")


def test_a_file_without_permission_is_refused(ledger: Ledger) -> None:
    ledger.path.chmod(0)
    if os.access(ledger.path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(LedgerError, match="Permission denied"):
        Ledger.open(ledger.path)


def test_each_line_is_json_that_a_person_can_read(ledger: Ledger) -> None:
    header, first, _ = map(json.loads, three_lines(ledger))
    assert list(header)[:4] == ["ledger", "data", "rho", "decimal"]
    assert {key: first[key] for key in ("number", "rho", "decimal", "who", "release")} == {
        "number": 1,
        "rho": "1/4",
        "decimal": "0.25",
        "who": "ada",
        "release": "first",
    }


def test_a_ledger_of_several_periods_recognises_the_data_of_each(tmp_path, records):
    other = Records(records.schema, [np.roll(column, 1) % 2 for column in records.columns])
    ledger = Ledger.create(tmp_path / "years.ledger", Fraction(1))
    query = Query.where(records.schema, {"sex": "F"})

    def spend(data, period):
        curator = Curator(data, Budget.from_rho(1), ledger, period=period)
        curator.measure([query], rho=Fraction(1, 8))

    spend(records, "2023")
    spend(other, "2024")
    spend(other, "2024")
    with pytest.raises(LedgerError, match="were spent on before for 2024"):
        spend(records, "2024")
    ledger.declare_corrected(records, why="typos", period="2024")
    spend(records, "2024")
    said = ledger.read()
    assert said.by_period == {"2023": Fraction(1, 8), "2024": Fraction(3, 8)}
    assert said.spent == Fraction(1, 2)
    assert set(said.fingerprints) == {"2023", "2024"}


def test_a_ledger_for_noisy_counts_only_is_of_a_version_that_others_do_not_read(tmp_path):
    total = rho_of(1, "1e-6", "gaussian")
    ledger = Ledger.create(tmp_path / "l", total, epsilon=1.0, delta=1e-6, accounting="gaussian")
    assert json.loads(ledger.path.read_text())["ledger"] == "thresher ledger, version 5"
    said = ledger.read()
    assert ledger.accounting == said.accounting == "gaussian"
    assert said.as_epsilon(total) == pytest.approx(1, rel=1e-9)
    assert said.affordable(Fraction(1, 10**7)) == rho_of(
        1, Fraction(1e-6) - Fraction(1, 10**7), "gaussian"
    )
    assert rho_of(1, "1e-6") < said.affordable(Fraction(1, 10**7)) < total


def test_a_ledger_for_noisy_counts_only_that_comes_later_is_not_paid_from(tmp_path, records):
    tight = Ledger.create(tmp_path / "l", Fraction(1))
    curator = Curator(records, Budget.from_rho(1), tight)
    tight.path.unlink()
    ledger = Ledger.create(tmp_path / "l", Fraction(1), accounting="gaussian")
    query = Query.parse("1 of: sex=F", records.schema)
    # Neither by a Curator whose noise is for another ledger, nor by hand.
    for spend in (
        lambda: curator.measure([query], rho="1/10"),
        lambda: ledger.spend(Fraction(1, 10), release="by hand"),
    ):
        with pytest.raises(LedgerError, match="noisy counts only"):
            spend()
    assert ledger.spent == curator.spent == 0
    assert ledger.spend(Fraction(1, 10), release="counts", counts_only=True) == 1


def test_a_new_ledger_says_whom_it_protects_and_an_old_one_means_a_replaced_record(tmp_path):
    unit = Unit("add-remove", "ssn", 5, "rows")
    ledger = Ledger.create(tmp_path / "l", Fraction(1), unit=unit)
    header = json.loads(ledger.path.read_text())
    assert header["ledger"] == "thresher ledger, version 4"
    assert header["unit"] == {"neighbours": "add-remove", "person": "ssn"}
    ledger.spend(Fraction(1, 4), "a release", unit=Unit("add-remove", "ssn", 2))
    with pytest.raises(LedgerError, match="another unit of privacy"):
        ledger.spend(Fraction(1, 4), "a release")
    assert ledger.spent == Fraction(1, 4)
    old = tmp_path / "old"
    body = {name: value for name, value in header.items() if name not in ("check", "unit")}
    old.write_text(sealed({**body, "ledger": "thresher ledger, version 2"}, "") + "\n")
    assert Ledger.open(old).read().unit == Unit()
    strange = {**body, "ledger": "thresher ledger, version 3", "unit": {"neighbours": "new"}}
    old.write_text(sealed(strange, "") + "\n")
    with pytest.raises(LedgerError, match="a unit of privacy that this thresher does not know"):
        Ledger.open(old)


def test_a_fingerprint_or_a_spend_taken_back_that_is_cut_anywhere_is_ignored(tmp_path, records):
    ledger = Ledger.create(tmp_path / "l", Fraction(1))
    number = ledger.spend(Fraction(1, 4), "a release")
    counted = CountedTables(records)
    for add in (lambda: ledger.recognise(counted, number), lambda: ledger.take_back(number)):
        kept = ledger.path.read_bytes()
        add()
        whole = ledger.path.read_bytes()
        for cut in range(len(kept), len(whole) - 1):
            ledger.path.write_bytes(whole[:cut])
            assert ledger.spent == Fraction(1, 4)
        ledger.path.write_bytes(whole)


def test_an_accounting_that_there_is_not(tmp_path):
    """A ledger of `Gaussian` would let selections be paid for."""
    with pytest.raises(ParameterError, match="accounting must be one of zcdp, tight"):
        Ledger.create(tmp_path / "people.ledger", Fraction(1), accounting="Gaussian")
    assert not (tmp_path / "people.ledger").exists()
