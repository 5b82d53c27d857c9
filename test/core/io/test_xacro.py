"""xacro files expand as with the xacro program, and can neither read other files nor execute code."""

import os
import re
import subprocess
import sys

import pytest
from lxml import etree

from robot_cell_planner.errors import FileError, LimitExceededError, ResourceError
from robot_cell_planner.errors.remedies import OUTSIDE_FOLDERS, XACRO_ARGUMENT, XACRO_FILE, XACRO_MACRO
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description import xacro_files
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def write(folder, text, name="robot.urdf.xacro"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"{HEAD}{text}</robot>" if "<robot" not in text else text)
    return path


def names(text):
    return [link.get("name") for link in etree.fromstring(text.encode()).iter("link")]


def test_arguments_macros_and_includes(tmp_path):
    write(tmp_path, '<xacro:macro name="part" params="name"><link name="${name}_link"/></xacro:macro>', "parts.xacro")
    (tmp_path / "sizes.yaml").write_text("radius: 0.25")
    path = write(
        tmp_path,
        '<xacro:include filename="parts.xacro"/><xacro:arg name="side" default="left"/>'
        '<xacro:property name="sizes" value="${xacro.load_yaml(\'sizes.yaml\')}"/>'
        '<xacro:part name="$(arg side)"/><link name="r${sizes[\'radius\']*2}"/>',
    )
    assert names(expand_xacro(path)) == ["left_link", "r0.5"]
    assert names(expand_xacro(path, {"side": "right"}))[0] == "right_link"


def test_the_text_is_that_of_the_xacro_program_without_the_name_of_the_file(tmp_path):
    path = write(tmp_path, '<xacro:arg name="n" default="3"/><link name="a${$(arg n)*2}"/>')
    command = [sys.executable, "-c", "import xacro; xacro.main()", str(path), "n:=4"]
    program = subprocess.run(command, capture_output=True, text=True, check=True)
    without_comments = re.sub("<!--.*?-->", "", program.stdout, flags=re.DOTALL)
    assert expand_xacro(path, {"n": "4"}).split() == without_comments.split()


def test_packages_are_found_in_the_roots(tmp_path):
    write(tmp_path / "ws" / "other_robot" / "urdf", '<link name="other"/>', "other.xacro")
    path = write(
        tmp_path / "mine",
        '<xacro:property name="p" value="other_robot"/><xacro:include filename="$(find other_robot)/urdf/other.xacro"/>'
        "<link name=\"${'$(find other_robot)'.split('/')[-1]}\"/>",
    )
    assert names(expand_xacro(path, roots=ResourceRoots(folders=(str(tmp_path / "ws"),)))) == ["other", "other_robot"]
    with pytest.raises(ResourceError, match="other_robot"):
        expand_xacro(path)


def test_packages_that_only_an_expression_names(tmp_path):
    write(tmp_path / "ws" / "late_robot", '<link name="late"/>', "late.xacro")
    write(tmp_path / "mine", '<xacro:include filename="$(find late_robot)/late.xacro"/>', "inner.xacro")
    path = write(tmp_path / "mine", '<xacro:include filename="inner.xacro"/>')
    assert names(expand_xacro(path, roots=ResourceRoots(folders=(str(tmp_path / "ws"),)))) == ["late"]


def test_a_link_of_an_installed_package_does_not_open_the_folders_around_its_target(tmp_path, monkeypatch):
    share = tmp_path / "install" / "share" / "linked"
    share.mkdir(parents=True)
    (share / "package.xml").write_text("<package><name>linked</name></package>")
    write(tmp_path / "sources" / "inner", '<link name="inside"/>', "part.xacro")
    write(tmp_path / "sources", '<link name="outside"/>', "part.xacro")
    (share / "inner").symlink_to(tmp_path / "sources" / "inner")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    path = write(tmp_path / "mine", '<xacro:include filename="$(find linked)/inner/part.xacro"/>')
    assert names(expand_xacro(path)) == ["inside"]
    path = write(tmp_path / "mine", '<xacro:include filename="$(find linked)/inner/../part.xacro"/>')
    with pytest.raises(FileError, match="lies outside of the allowed folders"):
        expand_xacro(path)


@pytest.fixture
def secret(tmp_path):
    write(tmp_path / "outside", '<link name="secret"/>', "secret.xacro")
    (tmp_path / "outside" / "secret.yaml").write_text("a: 1")
    return tmp_path / "outside"


@pytest.mark.parametrize(
    "text",
    [
        '<xacro:include filename="../outside/secret.xacro"/>',
        '<xacro:include filename="{}/secret.xacro"/>',
        '<xacro:include filename="link.xacro"/>',
        '<xacro:include filename="$(find mine)/../outside/secret.xacro"/>',
        "<link name=\"${{xacro.load_yaml('../outside/secret.yaml')['a']}}\"/>",
        '<xacro:include filename="/etc/hostname"/>',
    ],
)
def test_nothing_outside_is_read(tmp_path, secret, text):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "link.xacro").symlink_to(secret / "secret.xacro")
    with pytest.raises(FileError, match="outside of the allowed folders") as caught:
        expand_xacro(write(folder, text.format(secret)))
    assert caught.value.remedy == OUTSIDE_FOLDERS


def test_allowed_folders_are_listed_once(tmp_path, secret):
    folder = tmp_path / "mine"
    path = write(folder, '<xacro:include filename="../outside/secret.xacro"/>')
    with pytest.raises(FileError, match=re.escape(f"allowed folders ({folder})")):
        expand_xacro(path, roots=ResourceRoots(folders=(str(folder),)))


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__.__base__.__subclasses__()",
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "[c for c in ().__class__.__bases__]",
        "vars(xacro)",
        "1/0",
        "undefined",
        "'a'+",
        "[1][7]",
    ],
)
def test_unsafe_and_invalid_expressions_are_refused(tmp_path, expression):
    path = write(tmp_path, f'<link name="${{{expression}}}"/>')
    with pytest.raises(FileError) as caught:
        expand_xacro(path)
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "<robot",
        f"{HEAD}<xacro:part/></robot>",
        f"{HEAD}<xacro:include/></robot>",
        f'{HEAD}<link name="$(arg x)"/></robot>',
        f'{HEAD}<link name="$(evil x)"/></robot>',
        f'{HEAD}<xacro:include filename="none.xacro"/></robot>',
        "",
        "<robot></bot>",
        f'{HEAD}<link name="${{"/></robot>',
        "<robot><!DOCTYPE x></robot>",
    ],
)
def test_malformed_files_are_refused_by_name(tmp_path, text):
    path = tmp_path / "robot.xacro"
    path.write_text(text)
    with pytest.raises(FileError, match=r"robot\.xacro"):
        expand_xacro(path)


def test_the_file_that_an_include_fails_in_is_named(tmp_path):
    write(tmp_path, '<link name="${none}"/>', "inner.xacro")
    with pytest.raises(FileError, match=r"robot\.urdf\.xacro -> .*inner\.xacro: .*none"):
        expand_xacro(write(tmp_path, '<xacro:include filename="inner.xacro"/>'))


def test_missing_files(tmp_path):
    with pytest.raises(FileError):
        expand_xacro(tmp_path / "none.xacro")


BOMBS = {
    "memory": '<link name="${len([0] * 10**11)}"/>',
    "recursion": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "include": '<xacro:include filename="robot.urdf.xacro"/>',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_expansion_bombs_are_refused(tmp_path, monkeypatch, bomb):
    monkeypatch.setattr(xacro_files, "MAX_SECONDS", 2)
    with pytest.raises((FileError, LimitExceededError)):
        expand_xacro(write(tmp_path, BOMBS[bomb]))


def test_endless_computations_are_terminated(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_files, "MAX_SECONDS", 1)
    with pytest.raises(LimitExceededError, match="did not expand"):
        expand_xacro(write(tmp_path, '<link name="${max(map(float, range(10**12)))}"/>'))


def test_entities_do_not_multiply(tmp_path):
    laughs = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    path = tmp_path / "robot.xacro"
    path.write_text(f'<!DOCTYPE r [<!ENTITY a0 "xxxxxxxxxx">{laughs}]>{HEAD}<link name="&a11;"/></robot>')
    with pytest.raises((FileError, LimitExceededError)):
        expand_xacro(path)


def test_an_external_entity_is_not_read(tmp_path, secret):
    path = write(tmp_path / "mine", "", "robot.xacro")
    path.write_text(
        f'<!DOCTYPE r [<!ENTITY a SYSTEM "file://{secret}/secret.yaml">]>{HEAD}<link name="x">&a;</link></robot>'
    )
    assert "a: 1" not in expand_xacro(path)


def test_pipes_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.xacro")
    with pytest.raises(FileError, match="not a regular file"):
        expand_xacro(write(tmp_path, '<xacro:include filename="pipe.xacro"/>'))


def test_all_descriptors_are_closed(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    expand_xacro(write(tmp_path, '<link name="a"/>'))
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("name", "where"),
    [("$(arg side)", ""), ("${xacro.arg('side')}", " when evaluating expression 'xacro.arg('side')'")],
)
def test_an_argument_without_a_value_is_named_with_a_remedy(tmp_path, name, where):
    path = write(tmp_path, f'<link name="{name}"/>')
    remedy = "; give it a value: side:=VALUE on a command line, or in xacro_arguments"
    with pytest.raises(FileError, match=re.escape(f"Undefined substitution argument side{where}{remedy}")) as caught:
        expand_xacro(path)
    assert caught.value.remedy == XACRO_ARGUMENT
    assert names(expand_xacro(path, {"side": "left"})) == ["left"]


@pytest.mark.parametrize(
    "text", ['<link name="$(env SIDE)"/>', '<xacro:if value="$(env SIDE)"><link name="a"/></xacro:if>']
)
def test_an_environment_variable_is_named_with_a_remedy(tmp_path, monkeypatch, text):
    """Files are expanded without environment, also where the variable is set."""
    monkeypatch.setenv("SIDE", "left")
    write(tmp_path, text, "inner.xacro")
    path = write(tmp_path, '<xacro:include filename="inner.xacro"/>')
    with pytest.raises(
        FileError,
        match=r"inner\.xacro: \$\(env SIDE\): xacro files are expanded without environment variables; use an argument "
        r"instead, \$\(arg SIDE\), and give it a value in xacro_arguments, or expand the file beforehand: xacro FILE",
    ):
        expand_xacro(path)


@pytest.mark.parametrize("text", ["env('SIDE')", "arg('side')", "(1 + 2) * 3"])
def test_parentheses_that_xacro_cuts_off_are_named_with_a_remedy(tmp_path, text):
    path = write(tmp_path, f'<link name="$(eval {text})"/>')
    cut = re.escape(text[: text.index(")")])
    with pytest.raises(
        FileError,
        match=rf"robot\.urdf\.xacro: \$\(eval {cut}\): xacro ends \$\(...\) at its first closing parenthesis; write an "
        r"expression with parentheses as \$\{...\}, in which the value of an argument is xacro.arg\('NAME'\); "
        r"environment variables are not available$",
    ):
        expand_xacro(path)


def test_an_error_in_parentheses_is_written_once_without_its_type(tmp_path):
    with pytest.raises(FileError, match=r"robot\.urdf\.xacro: Unknown substitution command \[evil x\][^<]*$") as caught:
        expand_xacro(write(tmp_path, '<link name="$(evil x)"/>'))
    assert caught.value.message.count("Unknown substitution command") == 1


def test_an_empty_argument_in_the_path_of_an_include_is_named(tmp_path):
    text = '<xacro:arg name="dof" default=""/><xacro:include filename="arm_$(arg dof).xacro"/>'
    path = write(tmp_path, text)
    write(tmp_path, '<link name="seven"/>', "arm_7.xacro")
    with pytest.raises(FileError, match=r"arm_\.xacro: No such .* \(dof\), give it a value by dof:=VALUE$") as caught:
        expand_xacro(path)
    assert caught.value.remedy == XACRO_FILE
    assert names(expand_xacro(path, {"dof": "7"})) == ["seven"]


def test_an_empty_argument_in_the_place_of_a_file_is_named(tmp_path):
    text = (
        '<xacro:arg name="limits" default=""/><xacro:property name="p" value="${xacro.load_yaml(\'$(arg limits)\')}"/>'
    )
    path = write(tmp_path, f'{text}<link name="${{p.name}}"/>')
    with pytest.raises(
        FileError, match=r": is not a regular file; .* \(limits\), give it a value by limits:=VALUE$"
    ) as caught:
        expand_xacro(path)
    assert caught.value.remedy == XACRO_FILE
    (tmp_path / "limits.yaml").write_text("name: base")
    assert names(expand_xacro(path, {"limits": "limits.yaml"})) == ["base"]


@pytest.mark.parametrize(
    ("included", "near"),
    [("parts/wheels.xacro", "; nearest: wheel.xacro"), ("parts/none.yaml", ""), ("other/wheel.xacro", "")],
)
def test_a_missing_file_is_refused_with_similar_ones(tmp_path, included, near):
    (tmp_path / "parts").mkdir()
    write(tmp_path, "", "parts/wheel.xacro")
    path = write(tmp_path, f'<xacro:include filename="{included}"/>')
    message = f"{path}: {tmp_path / included}: No such file or directory{near}"
    with pytest.raises(FileError, match=f"{re.escape(message)}$") as caught:
        expand_xacro(path)
    assert caught.value.remedy == XACRO_FILE


def test_files_outside_of_the_allowed_folders_are_not_suggested(tmp_path):
    (tmp_path / "inside").mkdir()
    write(tmp_path, "", "wheel.xacro")
    path = write(tmp_path, '<xacro:include filename="../wheels.xacro"/>', "inside/robot.urdf.xacro")
    with pytest.raises(FileError) as caught:
        expand_xacro(path)
    assert "nearest" not in caught.value.message


MACRO = '<xacro:macro name="part" params="size *block"><link name="l"/></xacro:macro>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<xacro:part sizes="1"/>', "parameter 'sizes' of macro part does not exist; nearest: size"),
        ('<xacro:part sim="1"/>', "parameter 'sim' of macro part does not exist; there are block, size"),
        ("<xacro:part/>", "Not enough blocks"),
        ("<xacro:part><link/></xacro:part>", r"Undefined parameters \[size\]"),
        ('<xacro:part size="2"><link/><joint/></xacro:part>', 'Unused block "joint"'),
    ],
)
def test_a_call_that_does_not_fit_its_macro_is_refused_with_the_macro(tmp_path, text, message):
    path = write(tmp_path, MACRO + text)
    with pytest.raises(FileError, match=rf"robot\.urdf\.xacro: {message} \(in a call of macro part\)$") as caught:
        expand_xacro(path)
    assert caught.value.remedy == XACRO_MACRO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xacro:prat/>", "macro 'prat' does not exist; there is none at all"),
        (f"{MACRO}<xacro:prat/>", "macro 'prat' does not exist; nearest: part"),
        (f"{MACRO}<xacro:arm/>", "macro 'arm' does not exist; there is only part"),
        (f'{MACRO}<xacro:call macro="prat"/>', "macro 'prat' does not exist; nearest: part"),
        (
            '<xacro:macro name="robot"><xacro:macro name="inner"/><xacro:hand/></xacro:macro><xacro:robot/>',
            "macro 'hand' does not exist; there are inner, robot",
        ),
        (
            '<xacro:include filename="other.xacro" ns="other"/><xacro:other.prat/>',
            r"macro 'other\.prat' does not exist; nearest: other\.part",
        ),
    ],
)
def test_an_unknown_macro_is_refused_with_those_that_exist(tmp_path, text, message):
    write(tmp_path, MACRO, "other.xacro")
    with pytest.raises(FileError, match=rf"robot\.urdf\.xacro: {message}$") as caught:
        expand_xacro(write(tmp_path, text))
    assert caught.value.remedy == XACRO_MACRO


@pytest.mark.parametrize("old", ['<property name="size" value="2"/>', '<macro name="m" params="size"/>'])
def test_instructions_of_an_older_xacro_are_named_as_the_cause(tmp_path, old):
    inner = '<link name="a"><visual><geometry><sphere radius="${size}"/></geometry></visual></link>'
    write(tmp_path, old + inner, "inner.xacro")
    path = write(tmp_path, '<xacro:include filename="inner.xacro"/>')
    tag = old.split()[0][1:]
    with pytest.raises(
        FileError, match=rf"'size' is not defined.* has <{tag}> in .*; the present one needs <xacro:{tag}>"
    ):
        expand_xacro(path)
    write(tmp_path, inner, "inner.xacro")
    with pytest.raises(FileError, match=r"'size' is not defined when evaluating expression 'size'$"):
        expand_xacro(path)
