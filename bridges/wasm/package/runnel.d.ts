/** A failure: one sentence with place, expected and found. */
export class RunnelError extends Error {
  /** As in runnel_stream.h (1 INVALID_ARGUMENT, 2 INVALID_DATA, ...); 0: a wrong call of this interface, or not a module. */
  readonly code: number;
}

export type Stage = 'features' | 'output';
export type FrameArray = Int8Array | Int16Array | Int32Array | Float32Array;

export interface LoadOptions {
  /**
   * Receives frames as they are computed: of the front end (`features`) and of the model (`output`), frame by frame, `values` numbers each (see
   * Facts). `first` is the index of the first one. The array is a view of the module's memory, valid during the call: copy what you keep.
   */
  onFrames?: (stage: Stage, frames: FrameArray, first: number) => void;
}

export interface StageFacts {
  readonly type: 'int8' | 'int16' | 'int32' | 'float32';
  /** Numbers of a frame, and its bytes. */
  readonly values: number;
  readonly bytes: number;
  /** Value of an integer: integer * scale. 1 for floats. */
  readonly scale: number;
  /** In samples: from frame to frame; where frame 0 begins; what a frame covers. */
  readonly hop: number;
  readonly begin: number;
  readonly span: number;
}

export interface Facts {
  readonly name: string;
  /** In Hz. */
  readonly sampleRate: number;
  readonly channels: number;
  readonly sampleType: 'int16' | 'float32';
  /** Samples that are worked on at once: best pushed so many at a time. */
  readonly hop: number;
  readonly labels: readonly string[];
  readonly modelBytes: number;
  /** Of the module's memory, constant after loading. */
  readonly memoryBytes: number;
  /** null: there is no such stage. */
  readonly features: StageFacts | null;
  readonly output: StageFacts | null;
}

/** A decision. Times are samples since the start of the stream, [begin, end). */
export interface RunnelEvent {
  label: string;
  /** Among Facts.labels; -1: none of them, as texts of a recogniser. */
  labelIndex: number;
  /** 0 .. 1. */
  score: number;
  begin: number;
  end: number;
  /** Of the model's output. */
  frame: number;
}

export interface Counters {
  samples: number;
  lost: number;
  gated: number;
  gaps: number;
  events: number;
  /** Not fetched in time. */
  droppedEvents: number;
  /** Bytes that the program took while it was prepared. */
  memoryUsed: number;
}

/** One stream. An instance belongs to one thread; each has its own memory, which does not grow after loading. */
export class Runnel {
  private constructor();
  readonly facts: Facts;
  /** Bytes of the module's memory now. */
  readonly memoryBytes: number;
  /**
   * Takes any number of samples, interleaved where there are several channels, and computes all that they complete. Float samples are -1 .. 1; for a
   * program of int16 they are rounded and clipped. Throws RunnelError: another type of array; part of a frame; NaN or infinity, before
   * the first sample is taken; samples after end().
   */
  push(samples: Int16Array | Float32Array): void;
  /** The oldest decision that waits, or null. `into`: an object that is filled and returned instead of a new one. */
  poll(into?: Partial<RunnelEvent>): RunnelEvent | null;
  /** So many samples were lost before the next ones: the stream restarts at the right time. */
  lost(frames: number): void;
  /** The stream has ended: finishes it. Afterwards only poll() and reset() are useful. */
  end(): void;
  /** As after loading. */
  reset(): void;
  /** Skips pushes whose variance is below `threshold` (in squared units of the samples) unless fewer than `hold` samples have passed since a louder one. 0: none. */
  setGate(threshold: number, hold: number): void;
  counters(): Counters;
}

/**
 * Loads a module from an address, its bytes, or itself compiled. Rejects with RunnelError: not a module, one that runnel has not made, an engine
 * without 128-bit vectors, a damaged model, no memory.
 */
export function load(source: string | URL | Response | BufferSource | WebAssembly.Module, options?: LoadOptions): Promise<Runnel>;
/** The same at once, for AudioWorklets and workers (browsers refuse large modules to their main thread). */
export function loadSync(source: BufferSource | WebAssembly.Module, options?: LoadOptions): Runnel;

export interface Recording {
  sampleRate: number;
  channels: number;
  /** Interleaved. */
  samples: Int16Array | Float32Array;
}
/** Reads a RIFF WAVE file of 16-bit samples or 32-bit floats. Throws RunnelError for anything else, and for a file that is cut off. */
export function readWav(source: BufferSource): Recording;
/** Throws RunnelError where rate or channels are not those of the program. */
export function checkRecording(recording: Recording, facts: Facts): void;
