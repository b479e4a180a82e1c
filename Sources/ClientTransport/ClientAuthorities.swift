/// Authorities that a transport has read. Only that transport knows the contents.
public protocol ClientAuthorities: Sendable {}
