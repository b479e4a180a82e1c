// HTTPCodec
