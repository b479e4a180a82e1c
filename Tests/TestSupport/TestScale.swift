import Glibc

/// How much more than usual randomised tests do: `HEARTH_TEST_SCALE`, 1 when it is not set.
package enum TestScale {
    package static let factor: UInt64 = getenv("HEARTH_TEST_SCALE").flatMap { UInt64(String(cString: $0)) } ?? 1
}
