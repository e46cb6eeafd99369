"""Every adversary sees what its model says, and trying for more is refused."""

import pytest
from simulated import simulate

from fedrand.audit.threats import THREATS, Sight
from fedrand.audit.transcript import oracle, transcript
from fedrand.audit.updates import UPDATE_ATTACKS
from fedrand.audit.updates.harvest import NEEDS
from fedrand.audit.views import hindrance, seen_by
from fedrand.strategies import fedrand

REACH = [
    (Sight.FINAL, lambda view: view.final),
    (Sight.BROADCASTS, lambda view: view.rounds),
    (Sight.BROADCASTS, lambda view: view.broadcast(0)),
    (Sight.BROADCASTS, lambda view: view.after(0)),
    (Sight.SIZES, lambda view: view.sizes),
    (Sight.GROUPS, lambda view: view.groups),
    (Sight.UPLOADS, lambda view: view.uploads("c0")),
    (Sight.UPLOADS, lambda view: view.turns("c0")),
    (Sight.OTHERS, lambda view: view.uploads("c1")),
    (Sight.OTHERS, lambda view: view.turns("c1")),
    (Sight.OTHERS, lambda view: view.together(0)),
    (Sight.OWN, lambda view: view.own),
    (Sight.TRUTH, lambda view: view.true("c0")),
]
CLIENT = {"T3": "c0", "T4": "c2"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("transcript"), fedrand(), rounds=3, clients=3, per_round=3)


def view_of(run, threat, **more):
    return seen_by(threat, run.folder, run.final, CLIENT.get(threat, ""), **more)


def test_every_threat_model_of_the_audit_is_there_and_says_what_it_sees():
    assert list(THREATS) == ["T0", "T1", "T2", "T3", "T3+", "T4", "Tinf"]
    assert all(one.adversary and one.sees.endswith(".") for one in THREATS.values())


@pytest.mark.parametrize("threat", THREATS)
def test_a_view_gives_what_its_adversary_sees_and_refuses_the_rest(run, threat):
    view = view_of(run, threat)
    for sight, reach in REACH:
        if sight in view.has:
            assert reach(view) is not None
        else:
            with pytest.raises(PermissionError, match="does not see"):
                reach(view)


@pytest.mark.parametrize("threat", THREATS)
def test_no_entry_beyond_a_view_can_be_read_even_through_its_index(run, threat):
    view = view_of(run, threat)
    every = [*transcript(run.folder).entries, *oracle(run.folder).entries]
    allowed = {
        "T0": lambda entry: False,
        "T1": lambda entry: entry.kind == "broadcast",
        "T2": lambda entry: entry.kind == "broadcast",
        "T3": lambda entry: entry.kind != "oracle" and entry.client in ("", "c0"),
        "T3+": lambda entry: entry.kind != "oracle",
        "T4": lambda entry: entry.kind != "oracle" and entry.client in ("", "c2"),
        "Tinf": lambda entry: True,
    }[threat]
    assert {entry.file for entry in view.index.entries} == {entry.file for entry in every if allowed(entry)}
    for entry in every:
        if allowed(entry):
            assert view.read(entry)
            continue
        for read in (view.read, view.index.read):
            with pytest.raises(PermissionError, match="may not open it"):
                read(entry)


def test_tls_leaves_an_eavesdropper_the_sizes(run):
    view = view_of(run, "T1", tapped=False)
    assert len(view.sizes) == 3 * (1 + 3)
    for sight, reach in REACH:
        if sight is not Sight.SIZES:
            with pytest.raises(PermissionError):
                reach(view)
    assert view.index.entries == ()


def test_secure_aggregation_leaves_group_sizes_and_sums(run):
    view = view_of(run, "T2")
    for round, groups in view.groups.items():
        uploads = run.rounds[round].admitted
        assert groups.examples == sum(upload.num_examples for upload in uploads) == 3 + 4 + 5
        for key in run.final:
            senders = [upload.num_examples for upload in uploads if key in upload.params]
            assert (groups.of[key] if senders else (0, 0)) == (len(senders), sum(senders))


def test_a_fellow_client_has_its_own_uploads_and_data(run):
    view = view_of(run, "T4", own=("its example",))
    assert view.own == ("its example",) and len(view.uploads()) == 3


def test_an_attack_that_does_not_apply_says_why_in_one_sentence(run):
    applies = {
        attack.name: [threat for threat in THREATS if not hindrance(attack.needs, view_of(run, threat))]
        for attack in UPDATE_ATTACKS
    }
    assert applies["gradient cosine"] == ["T3", "T3+", "Tinf"]
    assert applies["FedMIA cosine"] == ["T3+", "Tinf"]
    assert [t for t in THREATS if not hindrance(NEEDS, view_of(run, t))] == ["T1", "T2", "T3", "T3+", "T4", "Tinf"]
    assert hindrance(UPDATE_ATTACKS[0].needs, view_of(run, "T0")) == (
        "T0, a user of the final model, does not see every broadcast or a client's uploads."
    )


@pytest.mark.parametrize("threat", ["T3", "T4"])
def test_a_threat_about_one_client_needs_its_name(run, threat):
    with pytest.raises(ValueError, match="name it"):
        seen_by(threat, run.folder, run.final)
