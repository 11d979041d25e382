"""How a host reaches the Temporal server: its address, TLS, and the key for its API."""

from __future__ import annotations

from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, TLSConfig
from temporalio.service import RPCError

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.machine.secret_file import read_secret
from rekindle.adapters.temporal.tls_trouble import explained, tls_files


async def connected(settings: TemporalSettings, identity: str, *, lazy: bool = False) -> Client:
    """A client. `lazy`: the server need not be there yet. Raises EngineError and UsageError."""
    key = read_secret(settings.api_key_file, "temporal_api_key_file") if settings.api_key_file is not None else None
    tls: TLSConfig | bool = settings.has_tls
    if settings.tls_ca or settings.tls_cert:
        ca, cert, own = tls_files(settings)
        tls = TLSConfig(server_root_ca_cert=ca, client_cert=cert, client_private_key=own)
    try:
        return await Client.connect(
            settings.address, namespace=settings.namespace, tls=tls, api_key=key, identity=identity, lazy=lazy
        )
    except RuntimeError as error:
        raise await explained(settings, error) from error


async def namespace_id(client: Client, settings: TemporalSettings) -> str:
    """What tells this engine from any other: the id that its server gave the namespace. Raises EngineError."""
    asked = DescribeNamespaceRequest(namespace=settings.namespace)
    try:
        told = await client.workflow_service.describe_namespace(asked, timeout=timedelta(seconds=10))
    except (RPCError, RuntimeError) as error:
        raise await explained(settings, error) from error
    return told.namespace_info.id
