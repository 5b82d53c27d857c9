"""Figures in the documentation are those of benchmarks/results, rounded to the digits that the page shows."""

import json
import re

import pytest
from sources import ROOT

RESULTS = ROOT / "benchmarks" / "results"
NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"
VAMP = "{0}.native.solved {0}.vamp.solved {0}.native.tried {0}.native.all.plan_and_shorten_median_ms \
{0}.vamp.plan_and_simplify_median_ms {0}.native.all.plan_and_shorten_p95_ms {0}.vamp.plan_and_simplify_p95_ms \
{0}.paired_ratio_median {0}.paired_ratio_p95 {0}.native.paths_colliding {0}.vamp.paths_colliding"
VAMP_ROW = "| {{}} / {{}} of {{}} | {{}} / {{}} | {{}} / {{}} | {{}}, {{}} | {{}} / {{}} |"
ENVIRONMENT = "{0}_plain_steps_per_processor_second {0}_bare_steps_per_processor_second \
{0}_safe_steps_per_processor_second {0}_eight_steps_per_processor_second {0}_eight_steps_per_second"
TRACKING = [f"{{0}}_{kind}_{{1}}_mrad" for kind in ("motor", "pid", "velocity", "computed_torque", "joint_impedance")]
SPEED = " ".join(
    f"{{0}}_20_bodies_1kHz_{kind}_rtf"
    for kind in ("plain", "motor", "gravity_compensation", "computed_torque", "cartesian_impedance")
)
BOTH = "{0}.native.solved {0}.problems {0}.native.proven {0}.native.colliding"
SIX = ("ur10", "demo")
LINES = ("lines", "polylines", "line_30_cm", "random_frame_lines")

# Page, results, text with {} in place of each figure, and the names of the figures; one after the last slash is divided
# by 1000. Names with spaces are listed.
FIGURES = [
    *[entry for page in ("README", "index") for entry in (
        (page, "audit", "Of {} random motions and curves of an audit", "audit.motions.looked_at"),
        (page, "request_panda_problems", "a plan takes {} ms on a Panda", "request.panda.whole_median_ms"),
        (page, "request_ur5_problems", "on a Panda and {} ms on a UR5 with a gripper", "request.ur5.whole_median_ms"),
        (page, "motions_panda_problems", "its shortcuts take {} and", "panda.paired_ratio_median"),
        (page, "motions_ur5_problems", "and {} of the time of VAMP", "ur5.paired_ratio_median"),
    )],
    ("architecture", "idle", "take {} % of one core and {} MB altogether, a further worker {} MB",
     "idle.processor_percent idle.memory_mb idle.planning_worker_memory_mb"),
    ("architecture", "start", "the first plan comes {} s after the start, and {} s with a robot's empty caches",
     "start.first_plan_s start.new_robot_first_plan_s"),
    ("collision", "scale", "moving one of 10,000 bodies takes {} ms, a new cell of 10,000 bodies {} s",
     "scale.change_one_of_10000_ms scale.build_checker_10000_ms/1000"),
    ("certified_motions", "scale", "a motion among 10,000 bodies takes {} times as long as among 10",
     "scale.edge_10000_over_10"),
    ("certified_motions", "motions_free_states", "take a mean of {} instead of 22 ms on a UR10",
     "free_states.ur10.search_mean_ms"),
    ("certified_motions", "audit", "of {} motions and curves, {} have less than 1 mm of clearance and {} are decided "
     "by exact distances. None of them collides, nor do the {} certified and {} other segments of {} plans",
     "audit.motions.looked_at audit.motions.near audit.motions.by_exact_distances audit.segments.looked_at "
     "audit.segments_not_certified.looked_at audit.plans"),
    ("certified_motions", "audit_plans", "has {} plans: none of {} certified segments",
     "audit.plans audit.segments.looked_at"),
    *[("certified_motions", f"motions_{name}_problems", f"| {title} {VAMP_ROW}".format(), VAMP.format(name))
      for name, title in (("panda", "Panda, every fifth of 300 problems, four seeds"),
                          ("ur5", "UR5 with a gripper, every fifth of 300, four seeds"),
                          ("fetch", "Fetch with its torso, every ninth of 700, three seeds"))],
    ("planning", "trajectory", "Takes {} of the time of `STOP_AT_WAYPOINTS` at the median",
     "smooth_to_stopping_median"),
    ("cartesian", "cartesian", "take {} ms of processor time with a UR10 and {} ms with a Panda, or {} and {} ms with "
     "a timing of 0.05 m/s",
     "ur10_printing_1000_points_graph_cpu_ms panda_printing_1000_points_graph_cpu_ms "
     "ur10_printing_1000_points_graph_timed_cpu_ms panda_printing_1000_points_graph_timed_cpu_ms"),
    ("execution", "execution", "interval between commands {} ms at the median, {} ms at p99, {} ms at p99.9, {} ms "
     "maximum; {} of {} intervals longer than 4 ms, {} ms in total; tracking error of the simulated robot {} rad; the "
     "execution node uses {} % of a core",
     "sent_interval_median_ms sent_interval_p99_ms sent_interval_p999_ms sent_interval_longest_ms sent_gaps "
     "commands_sent sent_gaps_sum_ms largest_tracking_error_rad processor_execution_percent"),
    ("viewer", "viewer", "| {} ms, {} ms |", "latency_median_ms latency_p95_ms"),
    ("viewer", "viewer", "| {} %, {} %, {} % of a core |",
     " ".join(f"processor_{count}_browsers_percent" for count in (0, 1, 10))),
    ("learning", "environments", "in {} ms with MuJoCo, and in {} to {} ms with PyBullet",
     "mujoco_2ms_reset_ms bullet_10ms_reset_ms bullet_2ms_reset_ms"),
    ("learning", "safety_layer", "None of {} actions had a contact; {} were scaled back, {} of them to none. Without "
     "the layer, {} of {} actions had one",
     "actions actions_scaled actions_stopped without_layer_actions_with_contact without_layer_actions"),
    ("learning", "reach_goals", "{} of {} goals need more than 25 actions, and {} more than 20",
     "goals_beyond_25_actions goals goals_beyond_20_actions"),
    *[("learning", "environments", f"| {engine}, {step} ms | {{}} | {{}} | {{}} | {{}} | {{}} |",
       ENVIRONMENT.format(f"{name}_{step}ms"))
      for engine, name in (("PyBullet", "bullet"), ("MuJoCo", "mujoco")) for step in (2, 10)],
    *[("simulation", "simulation", f"| {robot}, {load} | {motion} |{' {} |' * 5}",
       " ".join(TRACKING).format(f"{name}_{load}", motion))
      for robot, name in (("demo arm", "demo"), ("UR10", "ur10"), ("Panda", "panda"))
      for load in ("bare", "payload") for motion in ("sinusoid", "planned")],
    ("simulation", "simulation", f"| PyBullet |{' {} |' * 5}", SPEED.format("demo")),
    ("simulation", "simulation", f"| MuJoCo |{' {} |' * 5}", SPEED.format("mujoco_demo")),
    *[("simulation", "grasping", f"| {title} | {mass} | {{}}, {{}} | {{}}, {{}} |",
       " ".join(f"{engine}_{name}_{mass}kg_{what}" for engine in ("bullet", "mujoco")
                for what in ("slip_mm", "turn_degrees")))
      for title, name in (("box", "box"), ("cylinder", "cylinder"), ("hexagonal prism, mesh", "hexagon_mesh"),
                          ("box with faces that lean by 3 degrees, mesh", "tapered_mesh"), ("ball", "ball"))
      for mass in ("0.3", "1", "3")],
    *[("several_robots", "hand_over_tasks",
       f"| `{method}` | {{}} of {{}} | {{}} | {{}} | {{}} ms | {{}} s | {{}} % |",
       [f"{name}.solved", "tasks", f"{name}.proven", f"{name}.colliding at 1 ms", f"{name}.planning, median, ms",
        f"{name}.makespan, median, s", f"{name}.shorter than in turn, all together, percent"])
      for method, name in (("COUPLED", "coupled"), ("PRIORITISED", "prioritised"), ("FASTEST", "fastest"))],
    ("several_robots", "synchronised_execution", "All {} commands of one arm have one of the other with the same stamp "
     "and the same value. Of {} measured states at more than 70 % of the highest speed, the arms were at most {} ms",
     "commands states_compared apart_largest_ms"),
    *[("several_robots", "both_arms", f"| {title} | {family} | {{}} of {{}} | {{}} | {{}} |",
       BOTH.format(f"{name}.{family}"))
      for title, name in (("two UR10", "two_ur10"), ("two Panda", "two_panda"),
                          ("UR10 and Panda on a rail", "ur10_rail_panda"))
      for family in ("crossing", "shelf", "meeting")],
    ("several_robots", "moving_robots", "{} motions wait for longer than 0.05 s; all together take {} % less time than "
     "one arm after the other. Planning takes {} ms of the processor at the median, {} s at p95",
     ["plans that wait over 0.05 s", "shorter than in turn, all together, percent", "planning time, median, ms",
      "planning time, p95, ms/1000"]),
    ("several_robots", "four_robots", "| check of a state of all joints | {} us | {} us | {} |",
     ["one.state check, us", "four.state check, us", "growth.state check"]),
    ("several_robots", "four_robots", "| request for one arm, median and p95 | {}, {} ms ({} of {}) | {}, {} ms ({} of",
     ["one.request, median, ms", "one.request, p95, ms", "one.requests solved", "requests",
      "four.one arm.request, median, ms", "four.one arm.request, p95, ms", "four.one arm.requests solved"]),
]  # fmt: skip


def results(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def value_of(figures, name):
    key, _, divisor = name.rpartition("/") if name.endswith("/1000") else (name, "", "1")
    return figures[key] / float(divisor)


def agrees(text, value):
    """Whether a value rounds to a number as it is written."""
    digits, _, exponent = text.replace(",", "").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(float(text.replace(",", "")) - value) <= 0.5 * unit * (1.0 + 1e-9)


def shown(page, text):
    """The figures of a page in the places of {} in a text."""
    pattern = re.escape(" ".join(text.split())).replace(re.escape("{}"), NUMBER)
    file = ROOT / "README.md" if page == "README" else ROOT / "docs" / f"{page}.md"
    content = " ".join(file.read_text(encoding="utf-8").split())
    found = re.search(pattern, content)
    assert found, f"{page}.md does not contain: {text}"
    return found.groups()


@pytest.mark.parametrize(("page", "area", "text", "names"), FIGURES, ids=lambda value: str(value)[:40])
def test_figures_are_those_of_the_results(page, area, text, names):
    names = names.split() if isinstance(names, str) else names
    figures = results(area)
    written = shown(page, text)
    assert len(written) == len(names)
    wrong = {
        name: (number, value_of(figures, name))
        for number, name in zip(written, names, strict=True)
        if not agrees(number, value_of(figures, name))
    }
    assert wrong == {}


def test_the_range_of_times_of_the_graph_is_that_of_the_results():
    figures = results("cartesian")
    six = [f"{arm}_{kind}" for arm in SIX for kind in LINES]
    free = [f"panda_{kind}" for kind in LINES] + [f"{arm}_random_axis_lines" for arm in (*SIX, "panda")]
    text = "| {} to {} times that of `GREEDY` for six joints and full poses, {} to {} times with a free variable |"
    ratios = [
        [figures[f"{name}_graph_cpu_ms"] / figures[f"{name}_greedy_cpu_ms"] for name in names] for names in (six, free)
    ]
    bounds = [bound(each) for each in ratios for bound in (min, max)]
    assert all(agrees(number, value) for number, value in zip(shown("cartesian", text), bounds, strict=True))


def test_another_figure_is_found():
    assert agrees("1.7", 1.655)
    assert agrees("2e-09", 1.65e-9)
    assert agrees("1,040", 1040.0)
    assert not agrees("1.7", 1.64)
    assert not agrees("8", 4.077)
