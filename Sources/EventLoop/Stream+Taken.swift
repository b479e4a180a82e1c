import CHearthLinux
import HearthSystem

extension Stream {
    /// When the peer last took something.
    package struct Taken {
        /// Another number each time.
        package let mark: UInt64
        /// How long ago.
        package let age: Duration

        package init(mark: UInt64, age: Duration) {
            self.mark = mark
            self.age = age
        }
    }

    /// When the peer's system last acknowledged bytes. If the kernel does not know, when the kernel itself last took
    /// some, which says nothing about the peer.
    package var lastTaken: Taken {
        loop.assertIsCurrent()
        var (bytes, milliseconds): (UInt64, UInt32) = (0, 0)
        // Some kernels count nothing.
        if linux_acknowledged(descriptor, &bytes, &milliseconds) == 0, bytes > 0 {
            return Taken(mark: bytes, age: .milliseconds(Int64(milliseconds)))
        }
        return Taken(mark: UInt64(lastSent.nanoseconds), age: loop.now - lastSent)
    }
}
