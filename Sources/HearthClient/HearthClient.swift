// HearthClient
