/// How much can be written at once: a server ends the connection when a message is larger, so a write of more would be
/// sent again for ever (Protocol.md 9).
package enum WriteSize {
    /// Without the envelope of the message.
    package static let bytesMax = 16 << 20
}
