"""A keystore has the structure of SROS 2; its certificates, signatures and permissions are verified independently."""

import json
import shutil
import stat
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from lxml import etree

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError, InvalidRequestError
from robot_cell_planner.security.certificates import Identity, new_identity, write_identity
from robot_cell_planner.security.keystore import make_keystore
from robot_cell_planner.security.policy import Access, Enclave, Profile

OPENSSL = shutil.which("openssl")
NODE = Enclave("/cell/scene_node", (Profile("/", "scene_node", (Access("topics", "publish", ("a", "/b")),)),))
OTHER = Enclave("/cell/other_node", (Profile("/", "other_node", (Access("topics", "subscribe", ("a",)),)),))
FILES = {"key.pem", "cert.pem", "identity_ca.cert.pem", "permissions_ca.cert.pem", "governance.p7s", "permissions.p7s"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keystores") / "store"
    make_keystore(folder, (NODE, OTHER), domain=7, days=30)
    return folder


def certificate(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_an_enclave_has_all_files_of_a_participant(store):
    """The names of https://design.ros2.org/articles/ros2_security_enclaves.html, as rmw_security_common reads them."""
    own = store / "enclaves" / "cell" / "scene_node"
    assert {file.name for file in own.iterdir()} >= FILES
    assert all(file.resolve(strict=True).is_relative_to(store) for file in own.iterdir())
    assert not any(link.readlink().is_absolute() for link in own.iterdir() if link.is_symlink())


def test_all_files_are_readable_by_their_owner_only(store):
    for path in (store, *store.rglob("*")):
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_certificate_is_of_the_key_and_signed_by_the_authority(store):
    authority = certificate(store / "public" / "ca.cert.pem")
    authority.verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    now = datetime.now(timezone.utc)
    for enclave in (NODE, OTHER):
        own = store / "enclaves" / enclave.path.strip("/")
        found = certificate(own / "cert.pem")
        found.verify_directly_issued_by(authority)
        assert found.subject.rfc4514_string() == f"CN={enclave.path}"
        key = serialization.load_pem_private_key((own / "key.pem").read_bytes(), None)
        assert isinstance(key.curve, ec.SECP256R1)
        assert key.public_key() == found.public_key()
        assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert found.not_valid_before_utc < now < found.not_valid_after_utc < now + timedelta(days=31)


def test_permissions_grant_the_policy_only(store):
    own = store / "enclaves" / "cell" / "scene_node"
    (grant,) = etree.parse(str(own / "permissions.xml")).findall("permissions/grant")
    assert grant.findtext("subject_name") == f"CN={NODE.path}"
    assert grant.findtext("default") == "DENY"
    (rule,) = grant.findall("allow_rule")
    assert [found.text for found in rule.findall("domains/id")] == ["7"]
    topics = {kind: {found.text for found in rule.findall(f"{kind}/topics/topic")} for kind in ("publish", "subscribe")}
    assert topics == {"publish": {"rt/a", "rt/b", "ros_discovery_info"}, "subscribe": {"ros_discovery_info"}}
    found = certificate(own / "cert.pem")
    assert grant.findtext("validity/not_after") == found.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%S")


def test_governance_requires_a_certificate(store):
    rule = etree.parse(str(store / "enclaves" / "governance.xml")).find("domain_access_rules/domain_rule")
    assert rule.findtext("domains/id") == "7"
    assert rule.findtext("allow_unauthenticated_participants") == "false"
    assert rule.findtext("enable_join_access_control") == "true"
    assert rule.findtext("topic_access_rules/topic_rule/enable_write_access_control") == "true"


@pytest.mark.skipif(OPENSSL is None, reason="there is no openssl")
@pytest.mark.parametrize("name", ["governance", "cell/scene_node/permissions", "cell/other_node/permissions"])
def test_openssl_verifies_the_signed_documents_and_no_changed_ones(store, tmp_path, name):
    def verified(signed):
        authority = ["-CAfile", str(store / "public" / "ca.cert.pem")]
        command = [OPENSSL, "smime", "-verify", "-text", "-in", str(signed), *authority]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    signed = store / "enclaves" / f"{name}.p7s"
    found = verified(signed)
    assert found.returncode == 0, found.stderr
    document = signed.with_suffix(".xml").read_text(encoding="utf-8")
    assert found.stdout.replace("\r\n", "\n").strip() == document.strip()
    changed = tmp_path / "changed.p7s"
    changed.write_bytes(signed.read_bytes().replace(b"<id>7</id>", b"<id>8</id>"))
    assert verified(changed).returncode != 0


def test_an_existing_keystore_keeps_its_identities_and_has_new_permissions(tmp_path):
    make_keystore(tmp_path / "store", (NODE,), domain=1)
    own = tmp_path / "store" / "enclaves" / "cell" / "scene_node"
    before = {name: (own / name).read_bytes() for name in ("key.pem", "cert.pem", "identity_ca.cert.pem")}
    make_keystore(tmp_path / "store", (NODE, OTHER), domain=2)
    assert before == {name: (own / name).read_bytes() for name in before}
    assert b"<id>2</id>" in (own / "permissions.p7s").read_bytes()
    other = certificate(tmp_path / "store" / "enclaves" / "cell" / "other_node" / "cert.pem")
    other.verify_directly_issued_by(certificate(own / "identity_ca.cert.pem"))


@pytest.mark.parametrize("file", ["private/ca.key.pem", "public/ca.cert.pem", "enclaves/cell/scene_node/key.pem"])
@pytest.mark.parametrize("damage", ["garbage", "missing", "foreign"])
def test_a_damaged_keystore_is_refused_and_not_changed(tmp_path, file, damage):
    store = tmp_path / "store"
    make_keystore(store, (NODE,))
    if damage == "garbage":
        (store / file).write_text("garbage")
    elif damage == "missing":
        (store / file).unlink()
    else:
        make_keystore(tmp_path / "foreign", (NODE,))
        shutil.copy(tmp_path / "foreign" / file, store / file)
    before = {path: path.read_bytes() for path in store.rglob("*.pem") if path.is_file()}
    with pytest.raises(FileError, match=r"(key|cert)\.pem"):
        make_keystore(store, (NODE,))
    assert before == {path: path.read_bytes() for path in store.rglob("*.pem") if path.is_file()}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "removed"])
def test_identities_of_another_authority_are_not_kept(tmp_path, replaced):
    store, other = tmp_path / "store", tmp_path / "other"
    make_keystore(store, (NODE, OTHER))
    make_keystore(other, ())
    for file in ("private/ca.key.pem", "public/ca.cert.pem"):
        (store / file).unlink()
        if replaced:
            shutil.copy(other / file, store / file)
    before = contents(store)
    with pytest.raises(FileError, match="signed by another authority") as error:
        make_keystore(store, (NODE, OTHER))
    assert contents(store) == before
    assert all(f"{enclave.path}/cert.pem" in str(error.value) for enclave in (NODE, OTHER))
    assert "delete their folders and run this again" in str(error.value)
    for enclave in (NODE, OTHER):
        shutil.rmtree(store / "enclaves" / enclave.path.strip("/"))
    assert make_keystore(store, (NODE, OTHER)) == ()
    authority = certificate(store / "public" / "ca.cert.pem")
    certificate(store / "enclaves" / "cell" / "scene_node" / "cert.pem").verify_directly_issued_by(authority)


def test_an_identity_of_another_enclave_is_not_kept(tmp_path):
    make_keystore(tmp_path, (NODE, OTHER))
    for file in ("key.pem", "cert.pem"):
        shutil.copy(tmp_path / "enclaves/cell/other_node" / file, tmp_path / "enclaves/cell/scene_node" / file)
    with pytest.raises(FileError, match="is of /cell/other_node instead of /cell/scene_node"):
        make_keystore(tmp_path, (NODE,))


def write_identities(store, authority_days, days):
    """Write a keystore whose authority and identity of NODE are valid for these days from now, negative: ago."""
    make_keystore(store, (NODE,))
    authority = new_identity("sros2CA", authority_days)
    identity = new_identity(NODE.path, days, Identity(authority.key, new_identity("sros2CA", 9999).certificate))
    own = store / "enclaves" / "cell" / "scene_node"
    write_identity(authority, store / "private" / "ca.key.pem", store / "public" / "ca.cert.pem")
    write_identity(identity, own / "key.pem", own / "cert.pem")


@pytest.mark.parametrize(
    "authority_days, days, reason",
    [
        (30, -0.5, "scene_node/cert.pem is expired on .*; to make them anew, delete their folders"),
        (-0.5, 30, "ca.cert.pem expired on .*: move .* away, make it anew"),
    ],
)
def test_what_has_expired_is_not_kept(tmp_path, authority_days, days, reason):
    write_identities(tmp_path, authority_days, days)
    before = contents(tmp_path)
    with pytest.raises(FileError, match=reason):
        make_keystore(tmp_path, (NODE,))
    assert contents(tmp_path) == before


def test_no_new_certificate_outlives_its_authority(tmp_path):
    assert make_keystore(tmp_path, (NODE,), days=1) == ()
    (warning,) = make_keystore(tmp_path, (NODE, OTHER), days=3650)
    assert "were to be valid for 3650 days: /cell/other_node" in warning
    authority = certificate(tmp_path / "public" / "ca.cert.pem")
    found = certificate(tmp_path / "enclaves" / "cell" / "other_node" / "cert.pem")
    assert found.not_valid_after_utc == authority.not_valid_after_utc


def test_a_kept_certificate_that_outlives_its_authority_is_reported(tmp_path):
    write_identities(tmp_path, 1, 30)
    (warning,) = make_keystore(tmp_path, (NODE,))
    assert "are refused, although they end later: /cell/scene_node" in warning


@pytest.mark.skipif(OPENSSL is None, reason="there is no openssl")
def test_openssl_verifies_the_certificates(store):
    authority = store / "public" / "ca.cert.pem"
    for file in store.glob("enclaves/**/cert.pem"):
        subprocess.run([OPENSSL, "verify", "-CAfile", authority, file], check=True, capture_output=True, timeout=300)


def test_the_command_reports_certificates_that_end_early(tmp_path, capsys):
    words = ["keystore", str(tmp_path / "store"), "--domain-id", "0"]
    assert main([*words, "--days", "1"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*words, "--namespace", "one", "--json"]) == 0
    found = capsys.readouterr()
    assert found.err.startswith("warning: the authority of the keystore ends on ")
    assert len(json.loads(found.out)["warnings"]) == 1


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({"domain": 233}, "domain is 233, expected 0 to 232"),
        ({"domain": -1}, "domain is -1"),
        ({"days": 0}, "days is 0, expected 1 to 36500"),
        ({"enclaves": (NODE, NODE)}, "two policies have the enclave /cell/scene_node"),
        ({"enclaves": (Enclave("/../../outside", NODE.profiles),)}, "no path of an enclave"),
        (
            {"enclaves": (NODE, Enclave("/" + 64 * "x", NODE.profiles))},
            "65 characters, .* 64 .*: use a shorter namespace",
        ),
        ({"enclaves": (Enclave("relative", NODE.profiles),)}, "no path of an enclave"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_written(tmp_path, arguments, reason):
    with pytest.raises(InvalidRequestError, match=reason):
        make_keystore(tmp_path / "store", **{"enclaves": (NODE,), **arguments})
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "store", tmp_path / "file"):
        with pytest.raises(FileError, match="file"):
            make_keystore(folder, (NODE,))


def test_the_command_creates_enclaves_in_a_namespace(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "12")
    assert main(["keystore", str(tmp_path / "store"), "--namespace", "/one"]) == 0
    printed = capsys.readouterr().out
    made = {
        path.parent.name for path in (tmp_path / "store" / "enclaves" / "one" / "robot_cell_planner").glob("*/cert.pem")
    }
    names = "scene kinematics collision planning execution simulated_robot viewer moveit_adapter"
    nodes = {f"{name}_node" for name in names.split()}
    assert made == {*nodes, "client", "recorder"}
    assert "for ROS_DOMAIN_ID=12" in printed
    assert main(["keystore", str(tmp_path / "store"), "--namespace", "/one", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["domain"] == 12
    assert set(answer["enclaves"]) == {f"/one/robot_cell_planner/{name}" for name in made}


@pytest.mark.parametrize(
    "words, domain, reason",
    [
        (["--namespace", "a b"], "0", "no path of an enclave or namespace"),
        (["--policy", "."], "0", "there is no *.policy.xml"),
        (["--policy", "none.policy.xml"], "0", "none.policy.xml"),
        ([], "x", "ROS_DOMAIN_ID is 'x'"),
    ],
)
def test_the_command_reports_errors(tmp_path, capsys, monkeypatch, words, domain, reason):
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    monkeypatch.chdir(tmp_path)
    assert main(["keystore", str(tmp_path / "store"), *words]) == 1
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
