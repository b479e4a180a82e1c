// swift-tools-version: 6.2
import PackageDescription

/// An outside package that depends on Hearth: it uses only the public API of the products. Built and run by
/// `scripts/test-outside`.
let package = Package(
    name: "outside",
    dependencies: [.package(name: "hearth", path: "../..")],
    targets: [
        .executableTarget(name: "First", dependencies: [.product(name: "HearthClient", package: "hearth")]),
        .executableTarget(name: "Visitor", dependencies: [.product(name: "HearthClient", package: "hearth")]),
        .executableTarget(name: "Greeter", dependencies: [.product(name: "HearthHTTP", package: "hearth")]),
        .executableTarget(
            name: "Office",
            dependencies: [
                .product(name: "HearthAdmin", package: "hearth"), .product(name: "HearthClient", package: "hearth"),
            ]),
        .testTarget(
            name: "VisitorTests",
            dependencies: [
                .product(name: "HearthClient", package: "hearth"), .product(name: "HearthTesting", package: "hearth"),
            ]),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
}
