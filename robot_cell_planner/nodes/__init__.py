"""The ROS 2 nodes, a thin module each, and the supervisor that starts them: the only layer that knows rclpy."""
