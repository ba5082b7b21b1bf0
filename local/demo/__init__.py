"""The main job, unattended, with the people around it played by code."""
