"""A cell's rendered serving configuration as real Dynamo processes on loopback, with Dynamo's mock engines."""
