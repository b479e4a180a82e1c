// HearthBench
