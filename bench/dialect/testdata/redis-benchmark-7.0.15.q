SET: 23809.52 requests per second, p50=0.487 msec

