"""The documentation: its examples run and print what it says, its site builds without a warning, and what a newcomer wants is near."""

import doctest
import html.parser
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from urllib.parse import unquote

import pytest

import engine.docs
from tests.pages import blocks, run

DOCS = Path(engine.docs.__file__).parent
PAGES = sorted(path for path in DOCS.rglob("*.md") if "```python" in path.read_text(encoding="utf-8"))
CHECKER, HOW = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

#: what a newcomer wants to do, and what the code for it calls
TASKS = {
    "torques of a UR5": "arm.rnea(", "a satellite with two arms": "engine.Mounted(small_arm()", "a force of my own": "forces=[wind]",
    "a batch with scattered masses": "damping.pivot", "linearise": "simulator.linearize(", "LQR": "engine.lqr(",
    "inverse kinematics with limits": "robot.inverse_kinematics(", "identification": "engine.identify(", "a MuJoCo robot": "engine.load(",
    "a grasp": "engine.Grip(", "a campaign": "engine.Campaign(",
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).with_suffix("").as_posix())
def test_a_page_runs_and_prints_what_it_says(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        got, said = run(page, block, names), block.printed or ""
        assert CHECKER.check_output(said, got, HOW), f"{page.name}, line {block.line}, prints\n{got}\nwhere the page says\n{said}"


# ---------------------------------------------------------------- pages read as files

FILES = sorted([*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")])
LINK = re.compile(r"\]\(([^)\s\"]+)\)")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """What a page's headings are linked by: their words in small letters, without signs, and of equals the second with -1."""
    found: list[str] = []
    for heading in re.findall(r"^#{1,6} (.*)$", prose(page), re.M):
        words = re.sub(r"[^\w\- ]", "", LINK.sub("]", heading).strip().lower()).replace(" ", "-")
        again = sum(re.fullmatch(rf"{re.escape(words)}(-\d+)?", x) is not None for x in found)
        found.append(f"{words}-{again}" if again else words)
    return {*found}


@pytest.mark.parametrize("page", FILES, ids=lambda p: p.relative_to(DOCS.parent).with_suffix("").as_posix())
def test_links_of_a_page_that_is_read_as_a_file_lead_to_files_and_their_headings(page):
    """As an editor and the place where the sources lie follow them: names that only the site gives are dead there."""
    text = prose(page)
    assert not re.findall(r"^\([\w-]+\)=$", text, re.M)
    for link in LINK.findall(text):
        path, _, section = link.partition("#")
        if not path.startswith(("http:", "https:", "mailto:")):
            file = page.parent / path if path else page
            assert file.is_file() and (not section or section in anchors(file)), f"{page.name} links to {link}"


# ---------------------------------------------------------------- the site


class Reader(html.parser.HTMLParser):
    """Addresses that a page links to, ids in it, and its text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.ids, self.text = [], set(), ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.add(found["id"])
        self.links += [found[name] for name in ("href", "src") if found.get(name)]

    def handle_data(self, data):
        self.text += data


def target(page: str, link: str) -> tuple[str, str]:
    """The page and the section that a link of a page leads to."""
    path, _, section = unquote(link).partition("#")
    parts = [*page.split("/")[:-1], *path.split("/")] if path else page.split("/")
    while ".." in parts:
        k = parts.index("..")
        del parts[k - 1 : k + 1]
    return "/".join(part for part in parts if part not in ("", ".")), section


def lead_somewhere(pages: dict[str, Reader], out: Path) -> None:
    """Every link within the site is to a file that is there, and to a place in it."""
    for name, page in pages.items():
        for link in page.links:
            if link.startswith(("http:", "https:", "data:", "mailto:")):
                continue
            path, section = target(name, link)
            path = path.partition("?")[0]                                      # of files that change, their checksum
            assert (out / path).exists(), f"{name} links to {link}"
            told = "=" in section                                              # what a page that simulates begins with
            assert not section or told or path not in pages or section in pages[path].ids, f"{name} links to {link}"


def need_no_network(pages: dict[str, Reader]) -> None:
    """Scripts, styles and fonts are the site's own."""
    for name, page in pages.items():
        loaded = [link for link in page.links if link.startswith(("http:", "https:")) and link.endswith((".js", ".css", ".woff2"))]
        assert not loaded, f"{name} loads {loaded}"


def are_near(pages: dict[str, Reader]) -> None:
    """The code of every task is on a page that is two clicks from the first one, or nearer."""
    first = {target("index.html", link)[0] for link in pages["index.html"].links} & {*pages}
    second = {target(name, link)[0] for name in first for link in pages[name].links}
    for task, call in TASKS.items():
        holding = {name for name, page in pages.items() if call in page.text}
        assert holding & (first | second), f"{task}: {holding or 'no page'} is further from the front page than two clicks"


def test_the_site_is_built_without_a_warning_its_links_lead_somewhere_and_tasks_are_near(tmp_path):
    done = subprocess.run([sys.executable, "-m", "engine", "docs", tmp_path], capture_output=True, text=True)
    assert not done.returncode and not done.stderr, done.stderr
    assert done.stdout == f"{tmp_path / 'index.html'}\n"
    pages = {path.relative_to(tmp_path).as_posix(): Reader(path) for path in tmp_path.rglob("*.html")}
    assert {"index.html", "equations/aba.html", "reference/simulation.html"} < {*pages}
    assert "<math" in (tmp_path / "equations" / "aba.html").read_text(encoding="utf-8")
    lead_somewhere(pages, tmp_path)
    need_no_network(pages)
    are_near(pages)


def test_sphinx_is_asked_for_where_it_is_not(tmp_path):
    code = textwrap.dedent("""
        import sys
        sys.modules["sphinx"] = sys.modules["furo"] = None
        from engine.cli import main
        sys.exit(main(["docs", "site"]))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "engine: the site needs furo; expected pip install \".[docs]\" in the engine's checkout\n"


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "site").write_text("mine")
    with pytest.raises(engine.docs.DocsError, match="is a file; expected a folder"):
        engine.docs.build(tmp_path / "site")
    assert (tmp_path / "site").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "site").write_text("mine")
    with pytest.raises(engine.docs.DocsError, match=r"cannot be written \(Not a directory\); expected a path that can be written"):
        engine.docs.build(tmp_path / "site" / "inside")


def test_pictures_that_are_not_there_are_left_out():
    from engine.docs.conf import without_missing

    text = ["a\n![gone](pictures/gone.png)\nb ![there](pictures/demo-stack.png)\n"]
    without_missing(None, "gallery", text)
    assert text == ["a\nb ![there](pictures/demo-stack.png)\n"]
