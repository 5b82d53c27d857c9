"""Quality of service of services and actions."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

# Depth for many simultaneous clients. With rmw_fastrtps every client receives all replies of a service and ignores
# those of others, which would displace its own in a shallow queue.
SERVICES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
# The same for the services of which an action consists, as arguments of rclpy's action servers and clients.
ACTIONS = {f"{part}_service_qos_profile": SERVICES for part in ("goal", "result", "cancel")}
