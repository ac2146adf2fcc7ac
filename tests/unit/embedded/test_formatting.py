import base64

from anabranch.adapters.embedded.formatting import new_cluster_id


def test_cluster_ids_are_what_kafka_reads_and_never_look_like_an_option() -> None:
    ids = [new_cluster_id() for _ in range(1000)]

    assert len(set(ids)) == 1000
    assert not [text for text in ids if text.startswith("-")]
    assert {len(base64.urlsafe_b64decode(text + "==")) for text in ids} == {16}
