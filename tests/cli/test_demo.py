"""`thresher demo`: it ends by writing the explorer of its release, and says where that is."""

from pathlib import Path

from thresher.cli.demo import demo

MOST_BYTES = 1_500_000
"""How large the page of ADULT may be."""


def test_it_writes_the_page_and_says_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo()
    *_, last = capsys.readouterr().out.splitlines()
    page = Path(last.rpartition(": ")[2])
    assert page == (tmp_path / "thresher-demo.html").resolve()
    html = page.read_bytes()
    assert len(html) < MOST_BYTES
    assert b"ADULT, a release of the demo" in html
