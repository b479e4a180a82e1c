import Glibc

/// How much more than usual randomised tests do: `HEARTH_TEST_SCALE`, 1 when it is not set.
package enum TestScale {
    package static let factor: UInt64 = getenv("HEARTH_TEST_SCALE").flatMap { UInt64(String(cString: $0)) } ?? 1

    /// The one seed that simulations run: `HEARTH_SEED`, which a failure names; nil for many.
    package static let seed: UInt64? = getenv("HEARTH_SEED").flatMap { UInt64(String(cString: $0)) }

    /// How long simulations go on with further seeds, in seconds: `HEARTH_SIMULATION_SECONDS`; nil if they do not.
    package static let simulationSeconds: Int? = getenv("HEARTH_SIMULATION_SECONDS").flatMap {
        Int(String(cString: $0))
    }

    /// How long random things happen to a cluster of processes, in seconds: `HEARTH_CLUSTER_SECONDS`; nil for a moment.
    package static let clusterSeconds: Int? = getenv("HEARTH_CLUSTER_SECONDS").flatMap { Int(String(cString: $0)) }
}
