// speed_speech.js CASE MODEL RECORDING.wav [TOKENS]: runs sherpa-onnx-node (NODE_PATH says where it is) once over a recording,
// in blocks of 0.1 s as they come from a microphone, and prints the processor time in seconds, without loading, and what it heard.
// CASE: zipformer (front end, encoder, greedy search), vad, denoise.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const sherpa = require('sherpa-onnx-node');
const [kind, model, recording, tokens] = process.argv.slice(2);
const wave = sherpa.readWave(recording);
const block = Math.floor(wave.sampleRate / 10);

function recogniser() {
  const made = new sherpa.OnlineRecognizer({
    featConfig: {sampleRate: 16000, featureDim: 80},
    modelConfig: {zipformer2Ctc: {model}, tokens, numThreads: 1, provider: 'cpu', debug: 0},
    decodingMethod: 'greedy_search',
    enableEndpoint: 0,
  });
  const stream = made.createStream();
  return {
    take(samples) {
      stream.acceptWaveform({sampleRate: wave.sampleRate, samples});
      while (made.isReady(stream)) made.decode(stream);
    },
    end() {
      while (made.isReady(stream)) made.decode(stream);
      return made.getResult(stream).tokens.length + ' tokens';
    },
  };
}

function detector() {
  const vad = new sherpa.Vad({
    sileroVad: {model, threshold: 0.5, minSilenceDuration: 0.25, minSpeechDuration: 0.1, windowSize: 512},
    sampleRate: 16000, numThreads: 1, provider: 'cpu', debug: 0, bufferSizeInSeconds: 60,
  }, 60);
  let found = 0;
  const pop = () => { for (; !vad.isEmpty(); vad.pop()) ++found; };
  let rest = new Float32Array(0);
  return {
    take(samples) {
      const all = new Float32Array(rest.length + samples.length);
      all.set(rest);
      all.set(samples, rest.length);
      let at = 0;
      for (; at + 512 <= all.length; at += 512) vad.acceptWaveform(all.subarray(at, at + 512));
      rest = all.slice(at);
      pop();
    },
    end() {
      vad.flush();
      pop();
      return found + ' segments';
    },
  };
}

// The published GTCRN has none of the metadata that sherpa-onnx wants: a copy with them. Fields of a protobuf message that
// repeat may stand anywhere, also at its end: metadata_props of ModelProto (14), each with key (1) and value (2).
function withMetadata(file) {
  const entries = {
    model_type: 'gtcrn', version: '1', sample_rate: '16000', n_fft: '512', hop_length: '256', window_length: '512',
    window_type: 'hann_sqrt', conv_cache_shape: '2,1,16,16,33', tra_cache_shape: '2,3,1,1,16', inter_cache_shape: '2,1,33,16',
  };
  const field = (number, bytes) => Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes]);
  const added = Object.entries(entries).map(
      ([key, value]) => field(14, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))])));
  const copy = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'speed_speech.')), 'gtcrn.onnx');
  fs.writeFileSync(copy, Buffer.concat([fs.readFileSync(file), ...added]));
  process.on('exit', () => fs.rmSync(path.dirname(copy), {recursive: true}));
  return copy;
}

function denoiser() {
  const made = new sherpa.OnlineSpeechDenoiser({model: {gtcrn: {model: withMetadata(model)}, numThreads: 1, provider: 'cpu', debug: 0}});
  let samples = 0;
  return {
    take(block) { samples += made.run({samples: block, sampleRate: wave.sampleRate}).samples.length; },
    end() {
      samples += made.flush().samples.length;
      return samples + ' samples';
    },
  };
}

const makers = {zipformer: recogniser, vad: detector, denoise: denoiser};
if (!(kind in makers)) {
  console.error('speed_speech.js: expected zipformer, vad or denoise');
  process.exit(2);
}
const work = makers[kind]();
const start = process.cpuUsage();
for (let at = 0; at < wave.samples.length; at += block) work.take(wave.samples.subarray(at, at + block));
const heard = work.end();
const used = process.cpuUsage(start);
console.log(((used.user + used.system) / 1e6).toFixed(4), heard);
