// TreeStorage
