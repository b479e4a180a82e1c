import Glibc

/// How much more than usual randomised tests do: `HEARTH_TEST_SCALE`, 1 when it is not set.
package enum TestScale {
    package static let factor: UInt64 = getenv("HEARTH_TEST_SCALE").flatMap { UInt64(String(cString: $0)) } ?? 1

    /// Cases of a randomised test that `make test-release` runs as well: `count` for each ``factor``. Where no factor is
    /// asked for, code that is not optimised runs a quarter of them: there they take ten times as long.
    package static func cases(_ count: UInt64) -> UInt64 {
        #if DEBUG
            if getenv("HEARTH_TEST_SCALE") == nil { return max(1, count / 4) }
        #endif
        return count * factor
    }

    /// The one seed that simulations run: `HEARTH_SEED`, which a failure names; nil for many.
    package static let seed: UInt64? = getenv("HEARTH_SEED").flatMap { UInt64(String(cString: $0)) }

    /// How long simulations go on with further seeds, in seconds: `HEARTH_SIMULATION_SECONDS`; nil if they do not.
    package static let simulationSeconds: Int? = getenv("HEARTH_SIMULATION_SECONDS").flatMap {
        Int(String(cString: $0))
    }

    /// How long random things happen to a cluster of processes, in seconds: `HEARTH_CLUSTER_SECONDS`; nil for a moment.
    package static let clusterSeconds: Int? = getenv("HEARTH_CLUSTER_SECONDS").flatMap { Int(String(cString: $0)) }
}
