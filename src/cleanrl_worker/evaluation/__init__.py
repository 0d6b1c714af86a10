"""Policy evaluation: from a checkpoint beside its files to figures that can be reproduced."""
