"""A training that goes wrong, as they do."""

import gymnasium as gym

print("loading the policy", flush=True)
environment = gym.make("CartPole-v1", render_mode="rgb_array")
observation, _ = environment.reset(seed=1)
for episode in range(40):
    total, is_over = 0.0, False
    while not is_over:
        observation, reward, terminated, truncated, _ = environment.step(
            environment.action_space.sample()
        )
        total += float(reward)
        is_over = terminated or truncated
    environment.reset()
    print(f"episode {episode:3d}  return {total:.0f}  loss {1.9 ** episode / 1e4:.3g}", flush=True)
raise FloatingPointError("the loss became inf in episode 40: try a smaller learning rate")
