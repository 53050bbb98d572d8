// An AudioWorklet that listens: `new AudioWorkletNode(context, 'runnel', {processorOptions: {module}})` with the bytes of a module, or a
// WebAssembly.Module. The context must have the program's rate (`new AudioContext({sampleRate: 16000})`). Messages that it posts:
//   {type: 'ready', facts}   {type: 'event', event}   {type: 'frames', stage, frames, first} (with processorOptions.frames)
//   {type: 'error', message}, after which it is silent.
import {loadSync, RunnelError} from './runnel.js';

class RunnelProcessor extends AudioWorkletProcessor {
  #node = null;
  #event = {};

  constructor(options) {
    super();
    const {module, frames = false} = options.processorOptions ?? {};
    try {
      const onFrames = (stage, values, first) => this.port.postMessage({type: 'frames', stage, frames: values.slice(), first});
      this.#node = loadSync(module, frames ? {onFrames} : {});
      if (this.#node.facts.sampleRate !== sampleRate)
        throw new RunnelError(`AudioContext: expected a sample rate of ${this.#node.facts.sampleRate} Hz, found ${sampleRate} Hz`);
      if (this.#node.facts.channels !== 1) throw new RunnelError(`worklet: expected a program of one channel, found ${this.#node.facts.channels}`);
      this.port.postMessage({type: 'ready', facts: this.#node.facts});
    } catch (error) {
      this.#fail(error);
    }
  }

  process(inputs) {
    const samples = inputs[0]?.[0];
    if (this.#node === null) return false;
    if (samples === undefined) return true;   // nothing is connected
    try {
      this.#node.push(samples);
      while (this.#node.poll(this.#event) !== null) this.port.postMessage({type: 'event', event: this.#event});
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  #fail(error) {
    this.#node = null;
    this.port.postMessage({type: 'error', message: error.message});
  }
}

registerProcessor('runnel', RunnelProcessor);
