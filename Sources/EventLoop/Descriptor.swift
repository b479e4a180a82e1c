import Glibc

/// Plain descriptors, closed by hand by whoever owns them.
enum Descriptor {
    /// Closes the descriptor; ignores a negative one, which stands for none.
    static func close(_ descriptor: Int32) {
        // Never repeated on EINTR: Linux has released the descriptor already, and another thread may own its number.
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }
}
