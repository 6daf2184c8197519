"""The theory can be read from the first page to the last, and each page keeps what it promises."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from theory_pages import (
    CODE,
    CONTENTS,
    COURSE,
    DISPLAYED,
    FOLDER,
    INLINE,
    ROOT,
    TAG,
    anchors_of,
    exercises_of,
    pages,
    prose_of,
    reading_order,
    tags_of,
    text_of,
    title_of,
)

PAGES = pages()
HERE = Path(__file__).parent
REFERENCES = ROOT / "docs" / "references.md"
PSEUDOCODE = re.compile(r"<!-- the lines of (\S+) (\S+) -->\n```text\n(.*?)```", re.DOTALL)
WIDTH = 750  # pixels, which GitHub shows as they are beside a column of text
LONGEST = 4200  # words of prose and formulas, which take about an hour


def name_of(page):
    return page.stem


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_displayed_formula_has_a_tag_of_its_own(page):
    formulas = DISPLAYED.findall(prose_of(page))
    assert len(formulas) >= 3
    untagged = [formula for formula in formulas if len(TAG.findall(formula)) != 1]
    assert not untagged, untagged
    assert len(set(tags_of(page))) == len(formulas)


def test_every_tagged_formula_is_evaluated_by_a_test():
    tagged = [tag for page in PAGES for tag in tags_of(page)]
    assert len(tagged) == len(set(tagged))
    evaluated = []
    for file in HERE.glob("test_*.py"):
        for words in re.findall(r"@states\(([^)]*)\)", text_of(file)):
            evaluated += re.findall(r'"(\w+)"', words)
    assert sorted(set(evaluated)) == sorted(tagged)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_formulas_reach_the_reader_as_they_are_written(page):
    """Markdown takes neither a backslash nor an underscore out of them, whoever comes first."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text_of(page))
    inlines = [token for token in tokens if token.type == "inline"]
    shown = [_squeezed("".join(_words(token))) for token in inlines]
    prose = "\n".join(token.content for token in inlines)
    formulas = DISPLAYED.findall(prose) + INLINE.findall(DISPLAYED.sub("", prose))
    assert len(formulas) > 20
    for formula in map(_squeezed, formulas):
        assert any(formula in text for text in shown), formula


def _words(token):
    for child in token.children:
        yield "\n" if child.type in ("softbreak", "hardbreak") else child.content


def _squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_five_exercises_whose_answers_are_folded_and_run(page):
    exercises = exercises_of(page)
    assert len(exercises) == 5
    for exercise in exercises:
        question, answer = exercise.split("<details>\n<summary>Answer</summary>\n")
        assert len(question) > 20
        assert "assert" in CODE.search(answer.split("</details>")[0]).group(1)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_takes_an_hour_at_most(page):
    lesson = prose_of(page).split("\n## Exercises\n")[0]
    assert len(lesson.split()) <= LONGEST


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_cites_what_it_uses(page):
    cited = citations_of(page)
    assert cited
    assert cited <= anchors_of(REFERENCES)


def citations_of(page):
    return set(re.findall(r"\]\(\.\./references\.md#([\w-]+)\)", text_of(page)))


def test_the_references_list_nothing_that_no_page_cites():
    cited = set().union(*map(citations_of, PAGES))
    listed = re.findall(r"(?m)^### (.+)$", text_of(REFERENCES))
    texts = [f"Text {letter}" for letter in "ABCDE"]
    anchors = {title.lower().replace(" ", "-") for title in listed if title not in texts}
    assert listed[-5:] == texts
    assert anchors <= cited, anchors - cited


@pytest.mark.parametrize("page", PAGES[: len(COURSE)], ids=name_of)
def test_a_page_that_speaks_of_a_text_says_which_one_that_is(page):
    """A reader who begins here does not know what text E is."""
    named = re.search(r"[Tt]exts? [A-E]\b", prose_of(page))
    assert named
    link = re.compile(
        r"(, [A-E])*( and [A-E])?\]\(\.\./references\.md#(the-five-texts|text-[a-e])\)"
    )
    assert link.match(prose_of(page), named.end())


def lines_of(module, name):
    """(depth, statement) for every logical line of a function, without docstring and comments."""
    thing = importlib.import_module(f"maxmargin.{module.removesuffix('.py').replace('/', '.')}")
    for part in name.split("."):
        thing = getattr(thing, part)
    source = textwrap.dedent(inspect.getsource(thing))
    body = ast.parse(source).body[0].body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    lines = "\n".join(ast.unparse(statement) for statement in body).splitlines()
    return [(len(line) - len(line.lstrip())) // 4 for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pseudocode_is_its_file_line_for_line(page):
    """As many lines, each as deep as the statement it stands for."""
    for module, name, block in PSEUDOCODE.findall(text_of(page)):
        lines = block.rstrip("\n").splitlines()[1:]  # the first names the algorithm
        depths = [(len(line) - len(line.lstrip())) // 4 - 1 for line in lines]
        assert depths == lines_of(module, name), f"{page.name}: {name}"


ALGORITHMS = {
    "solvers/plain.py perceptron_without_offset", "solvers/plain.py perceptron",
    "solvers/plain.py gradient_descent", "solvers/plain.py stochastic_gradient_descent",
    "solvers/coordinate_ascent.py maximise_quadratic",
    "solvers/textbook.py Multipliers.segment", "solvers/textbook.py Multipliers.step",
    "solvers/textbook.py Multipliers.bias_after", "solvers/textbook.py Multipliers.violates",
    "solvers/smo_simplified.py SMOSimplified.run", "solvers/smo_random_pair.py SMORandomPair.run",
    "solvers/smo_platt.py SMOPlatt.run", "solvers/smo_platt.py SMOPlatt.examine",
    "solvers/smo_platt.py SMOPlatt.partners", "solvers/smo_pairs.py SMOPairs.run",
}  # fmt: skip


def test_every_algorithm_of_the_texts_has_its_pseudocode():
    found = {f"{m} {n}" for page in PAGES for m, n, _ in PSEUDOCODE.findall(text_of(page))}
    assert found == ALGORITHMS


def rows_of_the_contents():
    """number -> (title, page, numbers of the pages it needs, minutes)."""
    row = r"(?m)^\| (\d+) \| \[([^\]]+)\]\((\w+)\.md\) \|[^|]+\|([^|]*)\| (\d+) \|$"
    return {
        int(number): (title, page, [int(n) for n in re.findall(r"\d+", needs)], int(minutes))
        for number, title, page, needs, minutes in re.findall(row, text_of(CONTENTS))
    }


def test_the_contents_lead_from_the_first_page_to_the_last():
    rows = rows_of_the_contents()
    assert list(rows) == list(range(1, len(rows) + 1))
    order = [page for _, page, _, _ in rows.values()]
    assert order == reading_order()
    assert order[: len(COURSE)] == list(COURSE)
    assert {page.stem for page in FOLDER.glob("*.md")} - {"README"} == set(order)
    for number, (_, _, needs, minutes) in rows.items():
        assert all(before < number for before in needs)  # nothing is needed before it is told
        assert minutes <= 60
    assert not rows[1][2]  # the first page needs school mathematics only


def test_titles_in_the_contents_are_those_of_the_pages():
    for title, page, _, _ in rows_of_the_contents().values():
        assert title_of(FOLDER / f"{page}.md") == title


def test_the_map_shows_what_the_contents_say():
    needs = re.search(r"needs = (\{.*?\})", text_of(CONTENTS), re.DOTALL).group(1)
    rows = rows_of_the_contents()
    assert ast.literal_eval(needs) == {number: row[2] for number, row in rows.items()}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_ends_with_previous_and_next(page):
    line = text_of(page).rstrip().splitlines()[-1]
    order = reading_order()
    here = order.index(page.stem)
    linked = re.findall(r"\]\((\w+)\.md\)", line)
    before = order[here - 1 : here] if here else []
    assert linked == [*before, "README", *order[here + 1 : here + 2]]


@pytest.mark.parametrize("page", [*PAGES, CONTENTS], ids=name_of)
def test_links_to_sections_lead_to_headings(page):
    for target, anchor in re.findall(r"\]\(([\w./]*\.md)#([\w-]+)\)", prose_of(page)):
        assert anchor in anchors_of(page.parent / target), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES[len(COURSE) :], ids=name_of)
def test_a_page_beyond_the_texts_shows_a_picture_before_the_algebra_and_cites_three_sources(page):
    text = text_of(page)
    assert text.index("![") < text.index("\n## 2.")
    assert len(citations_of(page)) >= 3


@pytest.mark.parametrize("page", [*PAGES, CONTENTS], ids=name_of)
def test_pictures_are_of_one_width(page):
    for name in re.findall(r"!\[[^\]]*\]\((images/\w+\.png)\)", text_of(page)):
        header = (page.parent / name).read_bytes()[:24]
        assert int.from_bytes(header[16:20], "big") == WIDTH, name


# GitHub refuses these macros, and takes the tilde for a line through the text.
REFUSED = re.compile(r"\\(operatorname|[hv]?phantom|newcommand|def|href)\b|~")
STARTS_A_LIST = re.compile(r"(?m)^\s*[-+*]\s")


def formulas_in_prose(page):
    """Prose without code, and its formulas: those between two dollars, those between four."""
    prose = re.sub(r"`[^`\n]*`", "code", prose_of(page))
    return list(DISPLAYED.finditer(prose)), list(INLINE.finditer(DISPLAYED.sub("", prose)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_formulas_use_nothing_that_github_refuses(page):
    displayed, inline = formulas_in_prose(page)
    for formula in displayed + inline:
        assert not REFUSED.search(formula.group(1)), formula.group()
        assert not STARTS_A_LIST.search(formula.group(1)), formula.group()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_displayed_formulas_stand_alone_and_in_no_list(page):
    for formula in formulas_in_prose(page)[0]:
        assert formula.string[: formula.start()].endswith("\n\n"), formula.group()
        assert formula.string[formula.end() :].startswith("\n\n"), formula.group()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_dollars_of_a_formula_touch_nothing_but_spaces_and_punctuation(page):
    """GitHub takes a dollar for a dollar beside a letter, a quotation mark or an asterisk."""
    for formula in formulas_in_prose(page)[1]:
        assert formula.string[formula.start() - 1] in " \n(", formula.group()
        assert formula.string[formula.end()] in " \n,.:;?)-", formula.group()
