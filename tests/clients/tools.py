def check_tools(client, cluster):
    return []
