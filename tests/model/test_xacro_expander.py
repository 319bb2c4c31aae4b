"""xacro's elements: what the package xacro makes of a file is made of it here too."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
import xacro

from rbdgen import UrdfError, load
from rbdgen.model.xacro import expand, expanded
from rbdgen.model.xacro.values import Budget, XacroError
from rbdgen.model.xml_text import read_xml

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
PARTS = f"""{HEAD}<xacro:property name="size" value="0.5"/>
<xacro:macro name="part" params="n k:=1"><p n="${{n}}" k="${{k}}" s="${{size}}"/></xacro:macro><q/></robot>"""
YAML = """
base: &base {mass: 1.5, name: arm, ok: true, none: null}
more: {<<: *base, mass: 2, list: [1, two, 3.5], angle: !degrees 90, far: !millimeters 2 * 5}
"""

DOCUMENTS = {
    "properties are evaluated when they are asked for": """
        <xacro:property name="a" value="${b + 1}"/><xacro:property name="b" value="2"/>
        <xacro:property name="c" value="${a}" lazy_eval="false"/><xacro:property name="b" value="7"/>
        <xacro:property name="d" default="1"/><xacro:property name="d" default="2"/>
        <x a="${a}" b="${b}" c="${c}" d="${d}" e="$${a} $(arg)"/>""".replace("$(arg)", "$$(arg x)"),
    "values have the types of their texts": """
        <xacro:property name="i" value="3"/><xacro:property name="f" value="1e3"/>
        <xacro:property name="t" value="true"/><xacro:property name="s" value="'a'"/>
        <xacro:property name="u" value="1_0"/><xacro:property name="l" value="${[1, 2]}"/>
        <x a="${i / 2} ${f} ${not t} ${s + 'x'} ${u} ${l[1]} ${l}" b="${i}${i}" c=" ${i}"/>""",
    "macros have defaults, forwarded parameters and scopes": """
        <xacro:property name="size" value="5"/><xacro:property name="prefix" value="l_"/>
        <xacro:macro name="m" params="name type:=fixed size:=^ width:=^|2 text='a b' n:=${1 + 1} prefix=^|''">
        <j name="${prefix}${name}" type="${type}" s="${size}" w="${width}" t="${text}" n="${n}"/></xacro:macro>
        <xacro:m name="a"/><xacro:m name="b" type="revolute" size="1" prefix=""/>""",
    "parameters may be called as functions are": """
        <xacro:property name="map" value="1"/><xacro:property name="list" value="${[4]}"/>
        <xacro:macro name="m" params="type filter vars format"><j a="${type}${filter}" b="${vars + format}"/>
        </xacro:macro><xacro:m type="x" filter="y" vars="1" format="2"/><k a="${map}" b="${list[0]}"/>""",
    "blocks are inserted": """
        <xacro:property name="p"><o xyz="${n}"/><r/></xacro:property><xacro:property name="n" value="3"/>
        <xacro:macro name="m" params="*one **many a"><j a="${a}"><xacro:insert_block name="one"/>
        <xacro:insert_block name="many"/><xacro:insert_block name="p"/></j></xacro:macro>
        <xacro:m a="1"><origin x="${n}"><i/></origin><all><b/><c n="${n}"/></all></xacro:m>""",
    "conditions hold": """
        <xacro:property name="a" value="true"/><xacro:if value="${a}"><t/></xacro:if>
        <xacro:unless value="$(arg no)"><u/></xacro:unless><xacro:if value="${1 > 2 or a == 'x'}"><v/></xacro:if>
        <xacro:if value="0"><w/></xacro:if><xacro:if value="${len('a') == 1 and 'b' in ['b']}"><y/></xacro:if>""",
    "arguments are texts": """
        <xacro:arg name="no" default="1"/><xacro:arg name="k" default="${2 + 1}"/>
        <x a="$(arg no)" b="${$(arg k) * 2}" c="${'$(arg k)' + 'x'}" d="${xacro.arg('k')}"/>""",
    "scopes are global and parent": """
        <xacro:macro name="m" params="x"><xacro:property name="g" value="${x}" scope="global"/>
        <xacro:property name="o" value="${x + 1}" scope="parent"/><xacro:property name="own" value="1"/></xacro:macro>
        <xacro:macro name="outer" params="x"><xacro:m x="${x}"/><i o="${o}"/></xacro:macro>
        <xacro:outer x="4"/><j g="${g}"/><xacro:m x="6"/><k o="${o}"/>
        <xacro:property name="g" remove="true"/><xacro:property name="g" default="9"/><l g="${g}"/>""",
    "elements and attributes have names that are computed": """
        <xacro:property name="n" value="link"/><xacro:element xacro:name="${n}" a="1"><b c="${n}"/>
        </xacro:element><x><xacro:attribute name="${n}" value="v${1 + 1}"/></x>""",
    "macros are called by a name that is computed": """
        <xacro:macro name="m1" params="a *b"><x a="${a}"/><xacro:insert_block name="b"/></xacro:macro>
        <xacro:call macro="m${1}" a="2"><c/></xacro:call>""",
    "macros call themselves until they are done": """
        <xacro:macro name="m" params="n"><x n="${n}"/><xacro:if value="${n > 0}"><xacro:m n="${n - 1}"/>
        </xacro:if></xacro:macro><xacro:m n="9"/>""",
    "files are included": """
        <xacro:include filename="parts.xacro"/><xacro:part n="1"/><y s="${size}"/>
        <xacro:include filename="none.xacro" optional="true"/>""",
    "files are included into namespaces": """
        <xacro:include filename="parts.xacro" ns="a"/><xacro:include filename="parts.xacro" ns="b"/>
        <xacro:property name="size" value="3"/><xacro:a.part n="1"/><xacro:call macro="b.part" n="2"/>
        <y s="${size}" t="${a.size}"/>""",
    "YAML is loaded": """
        <xacro:property name="y" value="${xacro.load_yaml('a.yaml')}"/><xacro:property name="m" value="${y['more']}"/>
        <x a="${m.mass}" b="${m['name']}" c="${m.list[1]}" d="${m.angle}" e="${m.far}" f="${y.base.ok}"/>
        <xacro:macro name="m" params="c"><z a="${c.get('no', 4)}" b="${' '.join(list(c.keys()))}"/></xacro:macro>
        <xacro:m c="${y.base}"/>""",
    "the environment is read": """
        <x a="$(env XACRO_A)" b="$(optenv XACRO_B a b)" c="$(optenv XACRO_A c)" d="$(eval 1 + 2)"/>""",
    "comprehensions and formats": """
        <x a="${[i * 2 for i in range(3)]}" b="${'%s_%02d' % ('a', 3)}" c="${'-'.join(['a', 'b'])}"
        d="${[k for k in ['b', 'a'] if k != 'a'][0]}" e="${round(pi, 3)}" f="${python.sum([1, 2])}"/>""",
}


def outline(element: Element) -> tuple:
    """An element without what means nothing: spaces, comments, addresses of prefixes."""
    attributes = {k: v for k, v in element.attrib.items() if not k.startswith("xmlns")}
    return element.tag, attributes, [outline(child) for child in element]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "parts.xacro").write_text(PARTS, encoding="utf-8")
    (tmp_path / "a.yaml").write_text(YAML, encoding="utf-8")
    monkeypatch.setenv("XACRO_A", "value of a")
    return tmp_path


def file_of(folder: Path, text: str) -> Path:
    path = folder / "r.xacro"
    path.write_text(f"{HEAD}{text}</robot>", encoding="utf-8")
    return path


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_files_expand_as_by_xacro(text: str, folder: Path) -> None:
    path = file_of(folder, text)
    given = {"no": "0"}
    ours = outline(expanded(path, given).root)
    theirs = xacro.process_file(str(path), mappings=dict(given)).toxml()
    assert ours == outline(ElementTree.fromstring(theirs))
    assert outline(expanded(path, given).root) == ours


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xacro:none/>", "there is no macro 'none'"),
        ("<xacro:a.b/>", r"there is no macro 'a\.b'"),
        ('<xacro:macro name="m" params="a"/><xacro:m/>', "macro 'm' is not given 'a'"),
        ('<xacro:macro name="m"/><xacro:m b="1"/>', "macro 'm' has no parameter 'b'"),
        ('<xacro:macro name="m" params="*b"/><xacro:m/>', "macro 'm' is given too few elements"),
        ('<xacro:macro name="m"/><xacro:m><b/></xacro:m>', "macro 'm' does not use <b>"),
        ('<xacro:macro name="call"/>', "no macro can be called 'call'"),
        ('<xacro:insert_block name="b"/>', "there is no block 'b'"),
        ('<xacro:if value="maybe"/>', "'maybe' is 'maybe', not true or false"),
        ("<xacro:if/>", "<xacro:if> has no value"),
        ('<xacro:property name="a b" value="1"/>', "property 'a b' must be called as a variable"),
        ('<xacro:property name="a" value="1" default="1"/>', "has two of value, default and"),
        ('<xacro:property name="a" value="${a}"/><x a="${a}"/>', "property 'a' is made of itself"),
        ('<xacro:include filename="none.xacro"/>', r"none\.xacro' cannot be read: No such file"),
        ('<xacro:include filename="r.xacro"/>', "call themselves|more than .* steps"),
        ("<x a=\"${xacro.fatal('no')}\"/>", "the file says: no in expression"),
        ("<x>${xacro.fatal('no')}</x>", "the file says: no in expression"),
    ],
)
def test_what_cannot_be_expanded_is_named(text: str, message: str, folder: Path) -> None:
    path = file_of(folder, text)
    with pytest.raises(UrdfError, match=f"xacro does not expand it: .*(?:{message})") as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        '<xacro:macro name="m"><a/><xacro:m/><xacro:m/></xacro:macro><xacro:m/>',
        "".join(
            f'<xacro:macro name="m{k}">{f"<xacro:m{k - 1}/>" * 10}</xacro:macro>'
            for k in range(1, 12)
        )
        + '<xacro:macro name="m0"><a/></xacro:macro><xacro:m11/>',
        "".join(
            f'<xacro:property name="p{k}" value="${{p{k + 1} + p{k + 1}}}"/>' for k in range(60)
        )
        + '<xacro:property name="p60" value="aa"/><x a="${p0}"/>',
        "<x a=\"${xacro.load_yaml('laughs.yaml')}\"/>",
        "<x a=\"${xacro.load_yaml('endless.yaml')}\"/>",
        "<x a=\"${xacro.load_yaml('merges.yaml')}\"/>",
    ],
    ids=["endless", "doubled", "text", "aliases", "recursive", "merges"],
)
def test_nothing_grows_without_end(text: str, folder: Path) -> None:
    names = "abcdefghijkl"
    pairs = list(zip(names[1:], names, strict=False))
    laughs = [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for b, a in pairs]
    merges = [f"{b}: &{b} {{<<: [{','.join([f'*{a}'] * 9)}], {b}: 1}}" for b, a in pairs]
    (folder / "laughs.yaml").write_text("\n".join(["a: &a [x]", *laughs]), encoding="utf-8")
    (folder / "merges.yaml").write_text("\n".join(["a: &a {x: 1}", *merges]), encoding="utf-8")
    (folder / "endless.yaml").write_text("a: &a [*a]", encoding="utf-8")
    path = file_of(folder, text)
    root = read_xml(path.read_bytes(), "r").root
    with pytest.raises(XacroError, match=r"steps|characters|too deeply|call themselves") as caught:
        expand(root, path, {}, Budget(100_000))
    assert len(str(caught.value)) < 1000


def test_chains_of_macros_may_be_longer_than_pythons_stack(folder: Path) -> None:
    text = (
        '<xacro:macro name="m" params="n"><x n="${n}"/><xacro:if value="${n > 0}">'
        '<xacro:m n="${n - 1}"/></xacro:if></xacro:macro><xacro:m n="500"/>'
    )
    assert len(expanded(file_of(folder, text)).root) == 501


def test_yaml_makes_no_objects(folder: Path) -> None:
    (folder / "b.yaml").write_text("a: !!python/object/apply:os.system ['true']", encoding="utf-8")
    with pytest.raises(UrdfError, match=r"YAML has tag '.*python.*', which is not read"):
        expanded(file_of(folder, "<x a=\"${xacro.load_yaml('b.yaml')}\"/>"))


def test_what_a_file_says_is_a_remark(folder: Path) -> None:
    text = "<x>${xacro.warning('old', 3)}</x>"
    assert expanded(file_of(folder, text)).remarks == ("the file says: old 3",)


def test_brackets_within_expressions_belong_to_them(folder: Path) -> None:
    text = """<x a="${{'k': 1}['k'] + len({1, 2})}" b="$(eval max(1, int('2')) + 1)"/>"""
    assert expanded(file_of(folder, text)).root[0].attrib == {"a": "3", "b": "3"}


def test_packages_are_found_in_the_environments_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("ws/src/group/one", "prefix/share/two"):
        package = folder / place
        package.mkdir(parents=True)
        name = package.name
        text = f"<package><name>{name}</name></package>"
        (package / "package.xml").write_text(text, encoding="utf-8")
    (folder / "ws/src/loop").symlink_to(folder / "ws")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(folder / "ws"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder / "prefix"))
    found = expanded(file_of(folder, '<x a="$(find one)" b="$(find two)/b"/>')).root[0]
    assert found.get("a") == str(folder / "ws/src/group/one")
    assert found.get("b") == str(folder / "prefix/share/two/b")


def test_folders_may_be_called_as_patterns_are(tmp_path: Path) -> None:
    folder = tmp_path / "a[1] $(x) ${y} 'z'"
    folder.mkdir()
    (folder / "parts.xacro").write_text(PARTS, encoding="utf-8")
    for name in ("parts.xacro", "pa*.xacro", "$(dirname)/parts.xacro"):
        path = file_of(folder, f'<xacro:include filename="{name}"/><xacro:part n="1"/>')
        assert [element.tag for element in expanded(path).root] == ["q", "p"]
