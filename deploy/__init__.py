"""What starts things: set-up of a bare machine, the lab, the demo's own stack and the stack that tests run on."""
