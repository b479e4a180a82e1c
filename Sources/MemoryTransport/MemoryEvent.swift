/// Something that happens in a network.
struct MemoryEvent: @unchecked Sendable {
    // Safe because: events run one at a time, each after what caused it, and all that they share belongs to the
    // network.

    let run: () -> Void
}
