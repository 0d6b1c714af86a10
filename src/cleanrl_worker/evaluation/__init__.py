"""Policy evaluation: from a checkpoint beside its files to metrics that can be reproduced."""
