"""Models and their sessions."""

import threading

import numpy as np
import pytest

import runnel


def test_a_model_tells_what_it_is(digits):
    assert digits.usage == "stream"
    assert digits.labels[:10] == list("0123456789")
    assert digits.front_end.startswith("fbank ") and "num_mel_bins=40" in digits.front_end
    assert "detect" in digits.decision
    assert digits.sample_rate == 16000
    about = digits.inspect()
    assert about["type"] == "model" and about["streamed"] and about["macs_per_frame"] > 1000


def test_a_wrong_name_gives_the_sentence_of_the_program():
    with pytest.raises(runnel.NotFound) as failure:
        runnel.load("digitz")
    assert "digitz" in str(failure.value) and "digits" in str(failure.value)
    assert isinstance(failure.value, runnel.Error) and isinstance(failure.value, LookupError)
    with pytest.raises(TypeError, match="pool_windows"):
        runnel.load("digits", pool_windows=3)


def test_only_signed_models_are_taken_where_keys_are_trusted(tmp_path, digits, monkeypatch):
    key = tmp_path / "maker.pub"
    key.write_text("12" * 32 + "\n", encoding="ascii")
    with pytest.raises(runnel.InvalidData, match="unsigned, expected a signature of the key maker"):
        runnel.load(digits.path, trust=key)
    monkeypatch.setenv("RUNNEL_TRUST", str(key))
    with pytest.raises(runnel.InvalidData, match="unsigned"):
        runnel.load(digits.path)
    monkeypatch.setenv("RUNNEL_TRUST", str(tmp_path / "none.pub"))
    with pytest.raises(runnel.NotFound, match="none.pub"):
        runnel.load(digits.path)


def test_models_have_names(digits):
    assert runnel.models()["digits"] == digits.path


def test_a_damaged_file_is_refused(tmp_path, digits):
    bytes_ = bytearray(digits.to_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    path = tmp_path / "damaged.rnl"
    path.write_bytes(bytes_)
    with pytest.raises(runnel.InvalidData, match="damaged.rnl"):
        runnel.load(path)


def pushed(session, frames, sizes):
    """All frames of a stream that came in pieces, and the index of the first one; their indices follow each other."""
    parts, at, expected, k = [], 0, None, 0
    while at < len(frames):
        size = sizes[k % len(sizes)]
        k += 1
        got = session.push(frames[at:at + size])
        at += size
        if len(got.data):
            assert expected is None or got.first == expected
            expected = got.first + len(got.data)
            parts.append(got)
    got = session.flush()
    if len(got.data):
        assert expected is None or got.first == expected
        parts.append(got)
    return parts[0].first, np.concatenate([part.data for part in parts])


@pytest.mark.parametrize("sizes", [[1], [2, 5, 1], [1000], [0, 7]])
def test_frames_do_not_depend_on_how_they_went_in(digits, features, sizes):
    whole = digits.session().whole(features)
    assert whole.first == 0 and len(whole.data) == len(features)
    first, data = pushed(digits.session(), features, sizes)
    assert first == 0
    np.testing.assert_array_equal(data, whole.data)


@pytest.mark.parametrize("block", [1, 4, 8])
def test_blocks_do_not_change_frames(digits, features, block):
    first, data = pushed(digits.session(block=block), features, [3])
    np.testing.assert_array_equal(data, digits.session().whole(features).data)


def test_integers_and_floats(digits, features):
    plain, real = digits.session(), digits.session(dequantize=True)
    assert plain.output_dtype == np.int8 and real.output_dtype == np.float32
    integers = plain.whole(features).data
    floats = real.whole(features).data
    np.testing.assert_array_equal(floats, integers.astype(np.float32) * np.float32(2.0**plain.output_exponent))
    own = digits.session(integers=True)
    assert own.input_dtype == np.int8
    # Half up, as the model's operators round.
    quantized = np.clip(np.floor(features / 2.0**own.input_exponent + 0.5), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(own.whole(quantized).data, integers)


def test_reset_clone_save_restore(digits, features):
    session = digits.session(block=4)
    whole = digits.session().whole(features).data
    session.push(features[:101])                     # in the middle of a block
    other = session.clone()
    saved = session.save()
    rest = [s.push(features[101:]).data for s in (session, other)]
    np.testing.assert_array_equal(rest[0], rest[1])
    third = digits.session(block=4)
    third.push(features[:13])
    third.restore(saved)
    assert third.taken == 101
    np.testing.assert_array_equal(third.push(features[101:]).data, rest[0])
    tails = [s.flush().data for s in (session, other, third)]
    np.testing.assert_array_equal(tails[0], tails[1])
    np.testing.assert_array_equal(tails[0], tails[2])
    np.testing.assert_array_equal(np.concatenate([rest[0], tails[0]]), whole[-len(rest[0]) - len(tails[0]):])
    session.reset()
    first, data = pushed(session, features, [9])
    assert first == 0
    np.testing.assert_array_equal(data, whole)


def test_bytes_of_another_state_are_refused_and_change_nothing(digits, features):
    session = digits.session()
    session.push(features[:50])
    saved = session.save()
    broken = bytearray(saved)
    broken[-1] ^= 4
    for wrong, sentence in [(bytes(broken), "checksum"), (saved[:-1], "bytes"), (b"", "bytes"),
                            (digits.session(block=8).save(), "bytes|another")]:
        with pytest.raises(runnel.Error, match=sentence):
            session.restore(wrong)
    np.testing.assert_array_equal(session.push(features[50:]).data, _after(digits, features))


def _after(digits, features):
    session = digits.session()
    session.push(features[:50])
    return session.push(features[50:]).data


def test_a_stream_that_has_ended_takes_no_frames(digits, features):
    session = digits.session()
    session.push(features)
    session.flush()
    assert session.ended and len(session.flush().data) == 0
    with pytest.raises(runnel.InvalidArgument, match="reset"):
        session.push(features)


def test_arrays_are_looked_at(digits, features):
    session = digits.session()
    values = session.input_values
    with pytest.raises(runnel.Mismatch, match=rf"\[333, {values - 1}\], expected \[frames, {values}\]"):
        session.push(features[:, 1:])
    with pytest.raises(runnel.InvalidArgument, match="int64, expected float32"):
        session.push(features.astype(np.int64))
    with pytest.raises(runnel.InvalidArgument, match="array"):
        session.push("frames")
    with pytest.raises(runnel.InvalidArgument, match="int8"):
        digits.session(integers=True).push(features)
    assert session.taken == 0
    # One frame, other strides and float64 are taken; each gives the same bits.
    expected = digits.session().push(features[:1]).data
    np.testing.assert_array_equal(digits.session().push(features[0]).data, expected)
    wide = np.zeros((len(features), 2 * values), np.float32)
    wide[:, ::2] = features
    reference = digits.session().whole(features).data
    np.testing.assert_array_equal(digits.session().whole(wide[:, ::2]).data, reference)
    np.testing.assert_array_equal(digits.session().whole(np.asfortranarray(features)).data, reference)
    np.testing.assert_array_equal(digits.session().whole(features.astype(np.float64)).data, reference)
    np.testing.assert_array_equal(digits.session().whole(features.astype(">f4")).data, reference)


def test_options_of_a_session_are_checked(digits):
    with pytest.raises(runnel.NotFound, match="no such output"):
        digits.session(output="nothing")
    with pytest.raises(runnel.Error):
        digits.session(block=-1)


def test_threads_push_into_sessions_of_one_model(digits, features):
    """Eight threads with a session each, and two that share one: different sessions run at the same time, calls of one
    session take turns."""
    reference = digits.session().whole(features).data
    shared = digits.session()
    failures, counted = [], []
    barrier = threading.Barrier(10)

    def own(number):
        try:
            barrier.wait()
            for _ in range(3):
                session = digits.session(block=1 + number % 3)
                _, data = pushed(session, features, [1 + number, 3])
                np.testing.assert_array_equal(data, reference)
        except BaseException as failure:  # noqa: B902
            failures.append(failure)

    def together():
        try:
            barrier.wait()
            counted.append(sum(len(shared.push(features[:5]).data) for _ in range(100)))
        except BaseException as failure:  # noqa: B902
            failures.append(failure)

    threads = [threading.Thread(target=own, args=(number,)) for number in range(8)]
    threads += [threading.Thread(target=together) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert shared.taken == 1000
    assert sum(counted) + len(shared.flush().data) == 1000


def test_sessions_outlive_their_model(features):
    session = runnel.load("digits").session()
    assert len(session.whole(features).data) == len(features)


def test_a_model_that_runs_in_steps(data, tmp_path):
    """With state and context: the frames, in any pieces, saved in the middle of a step."""
    found = sorted(data.glob("models/silero-vad/**/silero_vad_openvino_16k.onnx"))
    if not found:
        pytest.skip("the test data has no model that runs in steps")
    try:
        model = runnel.import_model(found[0], tmp_path / "vad.rnl", step=512, context=64, states={"stateN": "state"})
    except runnel.Unsupported as failure:
        pytest.skip(str(failure))
    assert model.usage == "step"
    session = model.session()
    assert session.input_values == 1 and session.rate == (1, 512)
    samples = np.random.default_rng(1).standard_normal(20000).astype(np.float32) * 0.1
    whole = session.whole(samples).data
    assert len(whole) == 40                          # the last step is filled up
    session.push(samples[:1234])
    other = model.session()
    other.restore(session.save())
    assert other.taken == 1234 and other.next == 2
    broken = bytearray(session.save())
    broken[100] ^= 1
    with pytest.raises(runnel.InvalidData, match="checksum"):
        other.restore(bytes(broken))
    rest = np.concatenate([other.push(samples[1234:]).data, other.flush().data])
    np.testing.assert_array_equal(rest, whole[2:])


def test_check(digits):
    check = digits.check()
    assert check and check.passed and check.report["exact"] and check.details
