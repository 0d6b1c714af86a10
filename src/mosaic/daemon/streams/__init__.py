"""What clients follow: changed runs, logs and events, each at its own pace."""
