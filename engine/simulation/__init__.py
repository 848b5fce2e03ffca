from engine.simulation.robot import Robot, compile
