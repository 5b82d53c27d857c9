"""SDFormat documents: frames, links and joints of models and worlds."""
