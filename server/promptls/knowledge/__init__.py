"""Knowledge besides code: rule files, memory entries, project facts and code owners."""
