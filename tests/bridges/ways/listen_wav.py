"""runnel listen --wav: what all others are compared with."""
import way

way.write(way.output_of([way.RUNNEL, "listen", way.MODEL, "--wav", way.WAV, *way.decision()]).splitlines())
