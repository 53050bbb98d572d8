"""Events of many recordings as a Spark data set: runnel runs once per partition and answers line by line.

    spark-submit pyspark_pipe.py MODEL LIST OUT

LIST has a path or a manifest's object per line; OUT gets one JSON object per recording.
"""
import shlex
import sys

from pyspark import SparkContext


def main(model, names, out):
    context = SparkContext(appName="runnel")
    lines = context.textFile(names, minPartitions=context.defaultParallelism * 4)
    # checkCode: a process that dies fails its partition, which Spark runs again. A failed recording is an answer with
    # `error`.
    lines.pipe("runnel batch %s --pipe" % shlex.quote(model), checkCode=True).saveAsTextFile(out)


if __name__ == "__main__":
    main(*sys.argv[1:4])
