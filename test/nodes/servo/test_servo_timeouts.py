"""Commands of servo do not time out before servo reads them."""

import pytest
from builtin_interfaces.msg import Duration

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.msg import ServoOptions
from robot_cell_planner.nodes.servo.parameters import SERVO_PARAMETERS, servo_settings

DEFAULTS = {parameter.name: parameter.default for parameter in SERVO_PARAMETERS}


def settings(timeout, rate):
    options = ServoOptions(velocity_scale=1.0, command_timeout=Duration(nanosec=round(timeout * 1e9)))
    return servo_settings(options, DEFAULTS | {"servo_rate": rate})


def test_a_timeout_of_a_period_is_accepted():
    assert settings(0.05, rate=20.0).timeout == pytest.approx(0.05)
    assert settings(0.0, rate=20.0).timeout == DEFAULTS["servo_incoming_command_timeout"]


def test_a_shorter_one_is_refused():
    with pytest.raises(InvalidRequestError, match=r"command_timeout is 0\.04 s, expected 0 or at least 1 / servo_rate"):
        settings(0.04, rate=20.0)
