"""xacro files can use all idioms of vendors' files; other access is prevented by the syntax check and the kernel."""

import json
import math
import os
import subprocess
import sys
import textwrap

import pytest
from lxml import etree

from robot_cell_planner.errors import FileError, LimitExceededError, RobotCellError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.xacro_expressions import RefusedExpression, evaluate
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
SIZES = """
limits:
  shoulder: {lower: !degrees -180, upper: !degrees 180, effort: 330.0, has_limit: true}
  elbow: {lower: !radians -3.0, upper: 3.0, effort: 150}
mesh_files: {base: {visual: {mesh: {package: ur, path: base.dae}}}}
offsets: [1, 2, [3, 4]]
reach: !inches 10
"""
# What `vendors` files write, each with the text that it becomes: UR, Franka, Kinova, Robotiq and others.
IDIOMS = {
    "${sec['limits']['shoulder']['effort']}": "330.0",
    "${sec.limits.shoulder.lower}": str(-math.pi),
    "${sec['limits']['elbow']['lower'] + 1}": "-2.0",
    "${sec.get('none', 5)}": "5",
    "${len(sec['offsets'])}": "3",
    "${sec.offsets[2][-1]}": "4",
    "${sec['reach']}": str(10 * 0.0254),
    "${sec['mesh_files']['base']['visual']['mesh']['path'].split('.')[-1].upper()}": "DAE",
    "package://${sec.mesh_files.base.visual.mesh.package}/meshes": "package://ur/meshes",
    "${'shoulder' in sec['limits'] and not 'wrist' in sec['limits'].keys()}": "True",
    "${pi/2 - radians(30) + math.radians(30)}": str(math.pi / 2),
    "${-pi/2.0} ${sin(0)} ${math.cos(0)} ${sqrt(16)} ${math.atan2(0, 1)}": f"{-math.pi / 2} 0.0 1.0 4.0 0.0",
    "${1/12 * 3.0 * (3 * 0.5**2 + 2**2)}": str(1 / 12 * 3.0 * (3 * 0.5**2 + 2**2)),
    "${min(1, 2)} ${max([4, 3])} ${round(2.567, 1)} ${int('7') % 4} ${7 // 2}": "1 4 2.6 3 3",
    "${'left' if side == 'l' else 'right'}_${str(3) + 'x'}": "left_3x",
    "${side in ['l', 'r'] and side != 'x'}": "True",
    "${[x * 2 for x in [1, 2, 3] if x > 1]}": "[4, 6]",
    "${' '.join([str(v) for v in [0.1, 0.2]])}": "0.1 0.2",
    "${' '.join(map(str, python.sorted(sec['limits'].keys())))}": "elbow shoulder",
    "${xacro.load_yaml('sizes.yaml')['reach'] > 0.25}": "True",
    "${load_yaml('sizes.yaml').offsets[0]}": "1",
    "${xacro.dotify(dict(a=dict(b=3))).a.b}": "3",
    "${dict(a=1, b=2)['b']} ${list(python.range(3))} ${python.sum([1, 2])}": "2 [0, 1, 2] 3",
    "${xacro.tokenize('1 2,3')}": "['1', '2', '3']",
    "${'%.3f' % pi} ${'%d_%s' % (3, 'a')}": "3.142 3_a",
    "${prefix.strip('_') + '_tool0'}": "arm_tool0",
    "${'a,b'.replace(',', ' ')} ${'abc'[1:]} ${'abc'.startswith('ab')}": "a b bc True",
    "${float('1e-3')} ${bool(0)} ${1 <= 2 < 3} ${not True}": "0.001 False True False",
    "${xacro.arg('side')} $(arg side)": "l l",
    "${python.isinstance(1, int)} ${python.type('a') == python.type('b')}": "True True",
    "$(eval 1 + 2)": "3",
    "$(eval side == 'l')": "True",
    "$(optenv HOME nothing)": "nothing",
    "$$(find x) $${pi}": "$(find x) ${pi}",
}

ESCAPES = [
    "().__class__.__base__.__subclasses__()",
    "''.__class__.__mro__[1].__subclasses__()",
    "[].__class__.__base__.__subclasses__()[140].__init__.__globals__['sys']",
    "__import__('os').system('touch {marker}')",
    "__builtins__['open']('{marker}', 'w')",
    "open('{marker}', 'w')",
    "eval('1')",
    "exec('x=1')",
    "compile('1', 'a', 'eval')",
    "globals()",
    "locals()",
    "getattr('', '__class__')",
    "vars(xacro)",
    "python.vars(xacro)",
    "python.type('X', (), dict(a=1))",
    "python.type(python.type(1))",
    "python.type(lambda: 0)",
    "xacro.load_yaml.__globals__['os'].system('touch {marker}')",
    "load_yaml.func_globals",
    "xacro.fatal.__closure__",
    "xacro.message.__wrapped__",
    "xacro.root",
    "xacro.parent",
    "xacro.update(os=1)",
    "python.pop('list')",
    "math.__loader__.load_module('os')",
    "math.__spec__",
    "(lambda: 0).__code__",
    "(lambda: 0).__globals__",
    "[x for x in (1,)].__class__",
    "(x for x in [1]).gi_frame.f_back.f_globals",
    "str.__dict__",
    "str.format('{0.__class__}', 1)",
    "'{0.__class__.__base__}'.format(1)",
    "'{0[__class__]}'.format(dict(a=1))",
    "'{:{}}'.format(1, 99999999)",
    "'{0.__globals__}'.format(load_yaml)",
    "'%999999999d' % 1",
    "'%*d' % (999999999, 1)",
    "'a'.center(10**9)",
    "f'{pi}'",
    "(y := 5)",
    "[0] * 10**9",
    "'a' * 10**10",
    "9**9**9",
    "10**10**10",
    "1 << 10**9",
    "math.factorial(10**7)",
    "math.comb(10**6, 10**5)",
    "round(1, -10**9)",
    "[[x for x in range(10**4)] for y in range(10**4)]",
    "(lambda f: f(f))(lambda f: f(f))",
    "dict(a=1).__class__",
    "xacro.dotify(dict(a=1)).__init__",
    "xacro.dotify(dict(a=1)).__class__",
    "'a'.encode().__class__",
    "max.__self__",
    "len.__self__.__import__('os')",
    "print('a')",
    "input()",
    "breakpoint()",
    "lambda *a: a",
    "__debug__.real",
    "b'a'.hex().__class__",
    "python.map.__doc__",
    "'abc'.maketrans('a', 'b').__class__",
    "await_",
    "yield_",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sizes.yaml").write_text(SIZES)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.xacro").write_text(f'{HEAD}<link name="secret"/></robot>')
    (tmp_path / "outside" / "secret.yaml").write_text("a: 1")
    return tmp_path / "mine"


def expand(folder, body, **options):
    path = folder / "robot.urdf.xacro"
    path.write_text(f"{HEAD}{body}</robot>")
    return expand_xacro(path, **options)


def test_the_idioms_of_vendors_are_supported(folder):
    quoted = [text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for text in IDIOMS]
    links = "".join(f'<link name="{text}"/>' for text in quoted)
    text = expand(
        folder,
        '<xacro:arg name="side" default="l"/><xacro:property name="side" value="$(arg side)"/>'
        '<xacro:property name="prefix" value="arm_"/>'
        f'<xacro:property name="file" value="sizes.yaml"/>'
        f'<xacro:property name="sec" value="${{xacro.load_yaml(file)}}"/>{links}',
    )
    found = [link.get("name") for link in etree.fromstring(text.encode()).iter("link")]
    assert dict(zip(IDIOMS, found, strict=True)) == IDIOMS


def test_macros_with_defaults_blocks_and_conditions(folder):
    text = expand(
        folder,
        """<xacro:macro name="arm" params="prefix parent:=world *origin has_hand:=^|true n:=2">
             <xacro:if value="${has_hand}"><link name="${prefix}hand"/></xacro:if>
             <xacro:unless value="${n > 1 and parent != 'table'}"><link name="${prefix}none"/></xacro:unless>
             <joint name="${prefix}joint"><xacro:insert_block name="origin"/></joint>
             <xacro:if value="${n > 0}"><xacro:arm prefix="${prefix}${n}_" n="${n - 1}">
               <origin xyz="0 0 ${n}"/></xacro:arm></xacro:if>
           </xacro:macro>
           <xacro:property name="has_hand" value="true"/>
           <xacro:arm prefix="a_"><origin xyz="0 0 ${pi}"/></xacro:arm>""",
    )
    root = etree.fromstring(text.encode())
    assert [link.get("name") for link in root.iter("link")] == [
        "a_hand",
        "a_2_hand",
        "a_2_none",
        "a_2_1_hand",
        "a_2_1_none",
    ]
    assert [origin.get("xyz") for origin in root.iter("origin")] == [f"0 0 {math.pi}", "0 0 2", "0 0 1"]


def test_lazy_properties_and_folders_are_expanded(folder):
    text = expand(
        folder,
        '<xacro:property name="b" value="${a * 2}"/><xacro:property name="a" value="4"/>'
        '<link name="${b}"/><link name="$(cwd)"/>',
    )
    assert [e.get("name") for e in etree.fromstring(text.encode()).iter("link")] == ["8", str(folder)]


@pytest.fixture(scope="module")
def names():
    """The names that xacro provides after it is restricted, in the process of this test."""
    import xacro

    from robot_cell_planner.io.robot_description.xacro_expressions import allowed_names

    table = xacro.create_global_symbols()
    allowed_names(table)
    return table


@pytest.mark.parametrize("expression", ESCAPES)
def test_an_unsafe_expression_is_refused(tmp_path, names, expression):
    marker = tmp_path / "marker"
    with pytest.raises((RefusedExpression, NameError, RecursionError)):
        evaluate(expression.replace("{marker}", str(marker)), names)
    assert not marker.exists()


def test_the_number_of_escapes_in_the_corpus():
    assert len(set(ESCAPES)) > 60


@pytest.mark.parametrize("expression", ESCAPES[::6])
def test_in_a_file_it_is_a_named_error(folder, expression):
    if "}" in expression:
        expression = "().__class__"  # a brace would end the xacro expression
    marker = folder / "marker"
    with pytest.raises(FileError) as caught:
        expand(folder, f'<link name="${{{expression.replace("{marker}", str(marker)).replace("<", "&lt;")}}}"/>')
    assert "robot.urdf.xacro" in caught.value.message
    assert not marker.exists()


@pytest.mark.parametrize(
    "body",
    [
        "<link name=\"$(eval open('{0}/secret.yaml').read\"/>",
        '<link name="$(eval ().__class__)"/>',
        '<xacro:include filename="../outside/*.xacro"/>',
        '<xacro:include filename="/etc/pass[w]d"/>',
        '<xacro:include filename="{0}/secret.xacro" optional="true"/>',
        '<xacro:include filename="file://{0}/secret.xacro"/>',
        '<xacro:include filename="$(find outside)/secret.xacro"/>',
        '<xacro:include filename="link/secret.xacro"/>',
        '<xacro:property name="a" value="${{xacro.load_yaml(\'/proc/self/environ\')}}"/><link name="${{a}}"/>',
        "<link name=\"${{xacro.load_yaml('link/secret.yaml').a}}\"/>",
        "<link name=\"${{xacro.load_yaml('/dev/zero')}}\"/>",
        "<link name=\"${{xacro.load_yaml('code.yaml')}}\"/>",
        '<link name="$(env HOME)"/>',
        '<link name="$(env PATH)"/>',
        '<link name="$(dirname)"/>',
        '<link name="$(anon x)"/>',
        '<xacro:property name="__builtins__" value="1"/>',
        '<xacro:macro name="m" params="n"><xacro:m n="${{n + 1}}"/></xacro:macro><xacro:m n="0"/>',
        '<xacro:property name="a" value="${{b}}"/><xacro:property name="b" value="${{a}}"/><link name="${{a}}"/>',
    ],
)
def test_files_and_environment_variables_are_inaccessible(folder, body):
    outside, marker = folder.parent / "outside", folder / "marker"
    (folder / "link").symlink_to(outside)
    (folder / "code.yaml").write_text(f"!!python/object/apply:os.system ['touch {marker}']")
    with pytest.raises((FileError, LimitExceededError)) as caught:
        expand(folder, body.format(outside))
    assert "robot.urdf.xacro" in caught.value.message
    assert not marker.exists()


def test_an_endlessly_growing_text_is_refused(folder):
    doubling = "".join(f'<xacro:macro name="m{i}"><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>' for i in range(11))
    body = f'{doubling}<xacro:macro name="m11"><link name="{"x" * 500}"/></xacro:macro><xacro:m0/>'
    with pytest.raises(FileError, match="expected at most 100000"):
        expand(folder, body, roots=ResourceRoots(text_bytes=100_000))


CONFINED = """
    import json, os, socket, sqlite3, subprocess, sys, threading
    from robot_cell_planner.system.sandbox import confine
    folder, outside = sys.argv[1:]
    layers = confine([folder], cpu_seconds=20, memory_bytes=1 << 30, output_bytes=1 << 20)
    attacks = {
        "read outside": lambda: open(outside + "/secret.yaml").read(),
        "read through a link": lambda: open(folder + "/link/secret.yaml").read(),
        "read a database": lambda: sqlite3.connect(outside + "/secret.yaml").execute("select * from sqlite_master"),
        "list outside": lambda: os.listdir(outside),
        "write inside": lambda: open(folder + "/marker", "w"),
        "make a folder": lambda: os.mkdir(folder + "/marker"),
        "remove": lambda: os.unlink(folder + "/sizes.yaml"),
        "rename": lambda: os.rename(folder + "/sizes.yaml", folder + "/marker"),
        "a link": lambda: os.symlink(outside, folder + "/marker"),
        "mode": lambda: os.chmod(folder + "/sizes.yaml", 0o777),
        "times": lambda: os.utime(folder + "/sizes.yaml"),
        "a shell": lambda: subprocess.check_call(["touch", folder + "/marker"]),
        "fork": os.fork,
        "exec": lambda: os.execv("/bin/touch", ["touch", folder + "/marker"]),
        "socket": socket.socket,
        "pair of sockets": socket.socketpair,
        "signal": lambda: os.kill(os.getppid(), 0),
        "thread": lambda: threading.Thread(target=print).start(),
        "much memory": lambda: bytearray(1 << 31),
        "priority": lambda: os.nice(-5),
        "memory file": lambda: os.memfd_create("a"),
    }
    done = []
    for name, attack in attacks.items():
        try:
            attack()
            done.append(name)
        except Exception:
            pass
    inside = open(folder + "/sizes.yaml").read()
    os.write(1, json.dumps([layers, done, len(inside)]).encode())
"""


def test_the_kernel_refuses_access_as_well(folder):
    """Without checks of Python, as after an unknown vulnerability of the interpreter."""
    (folder / "link").symlink_to(folder.parent / "outside")
    command = [sys.executable, "-c", textwrap.dedent(CONFINED), str(folder), str(folder.parent / "outside")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    layers, done, length = json.loads(answer.stdout)
    if layers != ["limits", "landlock", "system calls"]:
        pytest.skip(f"this kernel has no more than {layers}")
    assert done == []
    assert length == len(SIZES)
    assert sorted(os.listdir(folder)) == ["link", "sizes.yaml"]


def test_a_confined_process_that_computes_endlessly_is_terminated():
    code = "from robot_cell_planner.system.sandbox import confine\nconfine([], cpu_seconds=1, memory_bytes=1 << 30)\n"
    done = subprocess.run([sys.executable, "-c", f"{code}while True: pass"], check=False)
    assert done.returncode < 0


def test_errors_are_those_of_this_package(folder):
    with pytest.raises(RobotCellError, match=r"not allowed in an expression"):
        expand(folder, "<link name=\"${xacro.load_yaml.__globals__['os'].system('true')}\"/>")
