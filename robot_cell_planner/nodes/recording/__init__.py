"""Recording of all topics of a domain in a bag of rosbag2."""
