"""Tianshou's DQN with its TensorBoard logger."""

import sys

import gymnasium
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.net.common import Net
from torch.utils.tensorboard import SummaryWriter

epochs = int(sys.argv[1])
made = [lambda: gymnasium.make("CartPole-v1")]
training, judging = DummyVectorEnv(made * 4), DummyVectorEnv(made * 2)
net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[64, 64])
policy = DiscreteQLearningPolicy(
    model=net, action_space=gymnasium.spaces.Discrete(2), eps_training=0.1, eps_inference=0.0
)
algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99)
collector = Collector(algorithm, training, VectorReplayBuffer(20_000, 4), exploration_noise=True)
result = algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        test_collector=Collector(algorithm, judging),
        max_epochs=epochs,
        epoch_num_steps=2_000,
        collection_step_num_env_steps=10,
        update_step_num_gradient_steps_per_sample=0.1,
        batch_size=64,
        test_step_num_episodes=4,
        logger=TensorboardLogger(SummaryWriter("runs")),
    )
)
print(f"episodes {collector.collect_episode}")
