"""Where runs are executed. Every executor has the interface of `base.Executor`."""
