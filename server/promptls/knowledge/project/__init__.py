"""Project knowledge: description, languages, frameworks, entry points, commands and layers of each workspace folder."""
